/** A relay with OAuth on a real port, in this process: its issuer is where it listens. */

import { randomIds, systemClock } from "kit/clock.ts";
import { jsonLog } from "kit/log.ts";
import { openRelay } from "../relay/oauth_relay.ts";
import { openDatabase } from "../../relay/oauth/database.ts";
import { freshSecret, namespaceOf } from "../../relay/secrets.ts";

export class RealRelay implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #end: () => void;
  readonly issuer: string;
  /** The secret of the one daemon that is online. */
  readonly secret = freshSecret(randomIds);
  readonly logged: string[] = [];

  constructor() {
    const gate = Promise.withResolvers<ReturnType<typeof openRelay>>();
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      async (request, { remoteAddr }) => (await gate.promise)(request, remoteAddr),
    );
    this.issuer = `http://127.0.0.1:${this.#server.addr.port}`;
    const log = jsonLog(systemClock, "info", (line) => this.logged.push(line));
    const db = openDatabase(":memory:", this.issuer, log);
    const machine = {
      ...{ daemon_id: "dm-000000000001", machine: "here", connected_at: systemClock.now() },
      ...{ version: "0.1.0", capabilities: {} },
    };
    gate.resolve(openRelay({
      ...{ clock: systemClock, ids: randomIds, log, proxy: { mode: "direct" } },
      machines: { list: (of) => of === namespaceOf(this.secret) ? [machine] : [] },
      oauth: { issuer: this.issuer, db },
    }));
    this.#end = () => db[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    this.#end();
  }
}

/** An app's callback on a port of its own: what the browser brought there. */
export class Callback implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly called: Promise<URL>;
  readonly url: string;

  constructor(path: string) {
    const { promise, resolve } = Promise.withResolvers<URL>();
    this.called = promise;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => {
        const url = new URL(request.url);
        if (url.pathname === path) resolve(url);
        return new Response("<!doctype html><title>Back</title><h1>Back in the app</h1>", {
          headers: { "content-type": "text/html" },
        });
      },
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Chromium, where this machine has it. */
export async function chromiumPath(): Promise<string | undefined> {
  const look = "command -v chromium || command -v chromium-browser || command -v google-chrome";
  const { stdout } = await new Deno.Command("sh", { args: ["-c", look] }).output();
  return new TextDecoder().decode(stdout).trim() || undefined;
}
