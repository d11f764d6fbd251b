/** The real relay as a child, on loopback; it can be killed and started again on its port. */

import { end, spawn } from "../../../support/programs/child.ts";
import { TextLineStream } from "../../../support/programs/lines.ts";
import { meshArguments } from "../../../support/programs/program.ts";

/**
 * The daemons of the bench connect from one machine, and a header says from which address. Without
 * that, the limits of one address would apply to all.
 */
const BEHIND_PROXY = {
  RELAY_OAUTH_PROXY_MODE: "trusted",
  RELAY_TRUSTED_PROXIES: "127.0.0.1",
};

export class RelayProcess implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly port: number;

  private constructor(process: Deno.ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(port = 0): Promise<RelayProcess> {
    const env = { ...BEHIND_PROXY, RELAY_PORT: String(port) };
    const process = spawn(meshArguments(["relay"]), { env, stderr: "piped" });
    const lines = process.stderr.pipeThrough(new TextLineStream()).getReader();
    for (;;) {
      const { value } = await lines.read();
      if (value === undefined) throw new Error("The relay did not start");
      const { url } = JSON.parse(value);
      if (url === undefined) continue;
      void ignore(lines);
      return new RelayProcess(process, Number(new URL(url).port));
    }
  }

  /** Signs a browser in; returns its cookie. `address` is what the browser connects from. */
  async signIn(secret: string, address: string): Promise<string> {
    const response = await fetch(`${this.url}/login`, {
      method: "POST",
      redirect: "manual",
      headers: { "sec-fetch-site": "same-origin", "x-forwarded-for": address },
      body: new URLSearchParams({ secret }),
    });
    await response.body?.cancel();
    const [cookie] = response.headers.get("set-cookie")?.split(";") ?? [];
    if (!cookie) throw new Error(`The relay answered ${response.status} to a sign-in`);
    return cookie;
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#process, "SIGTERM");
  }
}

/** Reads the log, which has a line for each connection, so that the relay can write. */
async function ignore(lines: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await lines.read()).done);
}
