/** The daemon of a soak: a real process with the probe, which is stopped and killed at random. */

import { fileURLToPath } from "node:url";
import { RealDaemon } from "../support/programs/child.ts";

const PROBE = fileURLToPath(new URL("probe.ts", import.meta.url));
const FLAGS = ["--v8-flags=--expose-gc", `--preload=${PROBE}`];
/** An answer takes milliseconds; without one after this time, the daemon hangs. */
const ANSWER_MS_MAX = 30_000;

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export class SoakDaemon implements AsyncDisposable {
  readonly #state: string;
  readonly #settings: Readonly<Record<string, string>>;
  #process: RealDaemon | undefined;
  /** True while the daemon is stopped, so that requests may fail. */
  #is_stopping = false;
  /** Refused requests by route and code; an unexpected failure is in `failures`. */
  readonly refusals = new Map<string, number>();
  readonly failures: string[] = [];
  requests = 0;

  constructor(state: string, settings: Readonly<Record<string, string>>) {
    this.#state = state;
    this.#settings = settings;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  get port(): number {
    return this.#process?.port ?? 0;
  }

  get base(): string {
    return this.#process?.base ?? "";
  }

  get isRunning(): boolean {
    return this.#process !== undefined && !this.#is_stopping;
  }

  async start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    const settings = { ...this.#settings, ...more };
    this.#process = await RealDaemon.start(this.#state, { settings, flags: FLAGS });
    this.#is_stopping = false;
  }

  /** Ends it, as an operator does or as a crash does. */
  async end(how: "stop" | "kill"): Promise<void> {
    this.#is_stopping = true;
    await this.#process?.[how]();
    this.#process = undefined;
  }

  /** Undefined if the daemon went away meanwhile. */
  async call(method: string, path: string, body?: BodyInit | object): Promise<Answer | undefined> {
    const daemon = this.#process;
    if (!daemon || this.#is_stopping) return undefined;
    this.requests++;
    try {
      const response = await fetch(`${daemon.base}${path}`, {
        method,
        body: body === undefined || body instanceof FormData ? body ?? null : JSON.stringify(body),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      return this.#read(`${method} ${path}`, response.status, await response.json());
    } catch (error) {
      if (this.#process === daemon && !this.#is_stopping) {
        this.failures.push(`${method} ${path}: ${error}`);
      }
      return undefined;
    }
  }

  async post(path: string, body: BodyInit | object = {}): Promise<Answer | undefined> {
    return await this.call("POST", path, body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("stop");
  }

  #read(route: string, status: number, body: Record<string, unknown>): Answer {
    if (status >= 400) {
      const name = route.split("?")[0]?.replaceAll(/[a-z]+-[0-9a-f]{12,}|%25\d+/g, "ID");
      const shown = `${name} ${status} ${body["error"]}`;
      this.refusals.set(shown, (this.refusals.get(shown) ?? 0) + 1);
      if (status >= 500 && !this.#is_stopping) this.failures.push(shown);
    }
    return { status, body };
  }
}
