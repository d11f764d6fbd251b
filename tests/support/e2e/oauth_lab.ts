/** A real relay with OAuth on loopback, which is its own issuer; callbacks; Chromium. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import type { Database } from "kit/data/sqlite.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { trustedProxiesOf } from "../../../relay/web/client_address.ts";
import { NAMESPACE, RealDaemon, SECRET } from "./relay_lab.ts";
import { until } from "../waiting.ts";

/** The way in which a person allows an app. */
interface Consent {
  readonly fetch?: typeof globalThis.fetch;
  readonly access?: "read" | "write";
}

/** A relay with every feature, and one connected daemon. */
export class OAuthRelay implements AsyncDisposable {
  readonly logged: string[] = [];
  readonly issuer: string;
  readonly secret = SECRET;
  readonly db: Database;
  readonly #relay: Relay;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #ticking: Promise<void>;
  #daemon: RealDaemon & { url: string; daemon_id: string } | undefined;

  /** `proxy`: the address of a proxy in front of the relay, if any. */
  private constructor(port = 0, proxy?: string) {
    const { promise, resolve } = Promise.withResolvers<Relay>();
    this.#server = Deno.serve(
      {
        hostname: "127.0.0.1",
        port,
        onListen: () => undefined,
        onError: async (error) => (await promise).onError(error),
      },
      async (request, { remoteAddr }) => (await promise).fetch(request, remoteAddr),
    );
    const issuer = this.issuer = proxy ?? `http://127.0.0.1:${this.#server.addr.port}`;
    const log = jsonLog(systemClock, "info", (line) => this.logged.push(line));
    const db = this.db = openDatabase(":memory:", issuer, { clock: systemClock, log });
    const relay = this.#relay = new Relay({
      clock: systemClock,
      ids: randomIds,
      log,
      proxy: proxy === undefined ? { mode: "direct" } : { mode: "trusted", proxies: loopback() },
      oauth: { issuer, db },
      accept: (request, ears) => {
        const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
        return { response, connection: toConnection(socket, ears) };
      },
    });
    resolve(relay);
    this.#ticking = relay.run().finally(() => db[Symbol.dispose]());
  }

  static async start(
    { port, proxy, env }: { port?: number; proxy?: string; env?: Record<string, string> } = {},
  ): Promise<OAuthRelay> {
    const relay = new OAuthRelay(port, proxy);
    relay.#daemon = await RealDaemon.start(relay.issuer, env);
    const { machines } = relay.#relay;
    await until("the daemon at the relay", () => machines.size > 0 ? true : undefined);
    return relay;
  }

  /** The cookie of a browser that is signed in. */
  signIn(): string {
    const opened = this.#relay.sessions.open(NAMESPACE, new Request(this.issuer));
    return opened.split(";", 1)[0] ?? "";
  }

  get daemon(): { url: string; daemon_id: string } {
    if (!this.#daemon) throw new Error("No daemon was started");
    return this.#daemon;
  }

  /** The person's part, by plain HTTP: the form's hidden field, the cookie, the secret. */
  async consent(address: URL, { fetch = globalThis.fetch, access }: Consent = {}): Promise<URL> {
    const page = await fetch(address);
    const cookie = page.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const [, request = ""] = /name="request" value="([^"]+)"/.exec(await page.text()) ?? [];
    const answer = await fetch(`${this.issuer}/oauth/authorize`, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, origin: this.issuer },
      body: new URLSearchParams({
        request,
        relay_secret: this.secret,
        decision: "allow",
        ...(access && { access }),
      }),
    });
    await answer.body?.cancel();
    assert.equal(answer.status, 303);
    return new URL(answer.headers.get("location") ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.[Symbol.asyncDispose]();
    this.#relay.shutDown();
    await this.#server.shutdown();
    await this.#ticking;
    await this.#relay[Symbol.asyncDispose]();
  }
}

/** An app's callback on a port of its own: it records what the browser sends. */
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

/**
 * Chromium without its window, whose tool bars are pages as well: a page takes a third of the
 * processor time.
 */
export const WITHOUT_WINDOW = "chromium-headless-shell";

/** The path of Chromium, if this machine has it; `preferred`: programs that are used before it. */
export async function chromiumPath(...preferred: readonly string[]): Promise<string | undefined> {
  const findProgram = [...preferred, "chromium", "chromium-browser", "google-chrome"]
    .map((program) => `command -v ${program}`).join(" || ");
  const { stdout } = await new Deno.Command("sh", { args: ["-c", findProgram] }).output();
  return new TextDecoder().decode(stdout).trim() || undefined;
}

/** The proxy on this machine. */
function loopback() {
  const proxies = trustedProxiesOf("127.0.0.1");
  if (typeof proxies === "string") throw new Error(proxies);
  return proxies;
}
