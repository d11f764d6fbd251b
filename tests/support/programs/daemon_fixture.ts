/** The real daemon on one state directory, over several runs. */

import { writeMigratedDatabase } from "../migrated.ts";
import { RealDaemon } from "./child.ts";

export class DaemonFixture implements AsyncDisposable {
  readonly #state: string;
  readonly #settings: Record<string, string>;
  #daemon: RealDaemon | undefined;

  constructor(state: string, settings: Record<string, string>) {
    this.#state = state;
    this.#settings = settings;
  }

  async start(): Promise<void> {
    writeMigratedDatabase(this.#state);
    this.#daemon = await RealDaemon.start(this.#state, { settings: this.#settings });
  }

  async kill(): Promise<void> {
    await this.#daemon?.kill();
  }

  /** Sends a request; a certificate proves which peer sends it. */
  async get(path: string, certificate?: string) {
    const headers = headersOf(certificate);
    return await (await fetch(`${this.#daemon?.base}${path}`, { headers })).json();
  }

  async post(path: string, body: unknown, certificate?: string) {
    const init = { method: "POST", headers: headersOf(certificate), body: JSON.stringify(body) };
    return await (await fetch(`${this.#daemon?.base}${path}`, init)).json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon?.stop();
  }
}

function headersOf(certificate: string | undefined): Record<string, string> {
  return certificate === undefined ? {} : { "x-mesh-certificate": certificate };
}
