/** A relay as a separate process, with remote MCP, used by an app and a person. */

import { TextLineStream } from "../../support/programs/lines.ts";
import { DENO_DIR, end } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

type Params = Readonly<Record<string, string | undefined>>;

export class RealRelay implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #output: Promise<void>;
  readonly issuer: string;

  private constructor(process: Deno.ChildProcess, issuer: string, output: Promise<void>) {
    this.#process = process;
    this.issuer = issuer;
    this.#output = output;
  }

  static async start(db: string, env: Record<string, string>): Promise<RealRelay> {
    const port = freePort();
    const issuer = `http://127.0.0.1:${port}`;
    const process = new Deno.Command(Deno.execPath(), {
      args: meshArguments(["relay"]),
      env: {
        ...env,
        DENO_DIR,
        RELAY_PORT: String(port),
        RELAY_OAUTH_ISSUER: issuer,
        RELAY_OAUTH_DB: db,
      },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const started = Promise.withResolvers<void>();
    const output = (async () => {
      const lines: string[] = [];
      for await (const line of process.stderr.pipeThrough(new TextLineStream())) {
        lines.push(line);
        if (line.includes("The relay listens")) started.resolve();
      }
      started.reject(new Error(`The relay ended:\n${lines.join("\n")}`));
    })();
    await started.promise;
    return new RealRelay(process, issuer, output);
  }

  get pid(): number {
    return this.#process.pid;
  }

  get resource(): string {
    return `${this.issuer}/mcp`;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(new URL(path, this.issuer), { redirect: "manual", ...init });
  }

  postForm(path: string, params: Params | string, headers: Record<string, string> = {}) {
    const given = typeof params === "string" ? params : new URLSearchParams(
      Object.entries(params).flatMap(([name, value]) => value === undefined ? [] : [[name, value]]),
    ).toString();
    return this.fetch(path, { method: "POST", body: given, headers: { ...FORM, ...headers } });
  }

  postJson(path: string, body: unknown): Promise<Response> {
    return this.fetch(path, { method: "POST", body: JSON.stringify(body) });
  }

  /** The status of a call of `/mcp` with an access token. */
  async useToken(token: string): Promise<number> {
    const response = await this.fetch("/mcp", {
      method: "POST",
      headers: {
        "authorization": `Bearer ${token}`,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    await response.body?.cancel();
    return response.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#process, "SIGTERM");
    await this.#output.catch(() => undefined);
  }
}

/** The relay must know its address before it starts, as its issuer. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
