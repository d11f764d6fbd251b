/** Our programs as children: the real daemon on its own state, and the scripts of the bench. */

import { fileURLToPath } from "node:url";
import { TextLineStream } from "./lines.ts";
import { meshArguments } from "./program.ts";

/** The folder of the scripts that run as children. */
const SCRIPTS = fileURLToPath(new URL("../../bench", import.meta.url));
const START_MS_MAX = 15_000;
const POLL_MS = 2;

/** Deno's cache, which children use although they get a home of their own. */
export const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME") ?? ""}/.cache/deno`;

/** The real daemon on loopback, as people run it. */
export class RealDaemon implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly port: number;
  readonly base: string;
  /** From the spawn to the first answer of `/health`. */
  readonly start_ms: number;

  private constructor(process: Deno.ChildProcess, port: number, start_ms: number) {
    this.#process = process;
    this.port = port;
    this.base = `http://127.0.0.1:${port}`;
    this.start_ms = start_ms;
  }

  get pid(): number {
    return this.#process.pid;
  }

  static async start(
    state: string,
    { settings = {}, flags = [], wrapper = [] }: {
      settings?: Record<string, string>;
      flags?: readonly string[];
      /** A program that runs the daemon in its own process, with its options. */
      wrapper?: readonly string[];
    } = {},
  ): Promise<RealDaemon> {
    const notice = `${state}/daemon.json`;
    await Deno.remove(notice).catch(() => undefined);
    const from = performance.now();
    const process = launch(state, settings, flags, wrapper);
    const { url } = await noticeOf(notice, process, from);
    const health = await fetch(`${url}/health`);
    await health.body?.cancel();
    return new RealDaemon(process, Number(new URL(url).port), performance.now() - from);
  }

  /** Sends SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
  }

  /** Stops the daemon as an operator does; returns its exit code. */
  async stop(): Promise<number> {
    return await end(this.#process, "SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Ends a program that may have ended already; returns its exit code. */
export async function end(process: Deno.ChildProcess, signal: Deno.Signal): Promise<number> {
  try {
    process.kill(signal);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // It has ended already.
  }
  return (await process.status).code;
}

/** A daemon's process, which may not listen yet. */
export function launch(
  state: string,
  settings: Record<string, string> = {},
  flags: readonly string[] = [],
  wrapper: readonly string[] = [],
): Deno.ChildProcess {
  const env = {
    MESH_STATE: state,
    MESH_CONFIG: "/none",
    MESH_DAEMON__PORT: "0",
    MESH_DAEMON__LIMITS__PAIR_PER_MINUTE: "0", // The tests and the bench send bursts.
    ...settings,
  };
  const [program = "", ...args] = [
    ...wrapper,
    Deno.execPath(),
    ...meshArguments(["daemon"], flags),
  ];
  const options = { args, stderr: "inherit", env: { ...env, HOME: state, DENO_DIR } } as const;
  return new Deno.Command(program, options).spawn();
}

/** A script of the bench that prints one line when it is ready, and ends with its input. */
export class Script<T> implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly report: T;

  private constructor(
    process: Deno.ChildProcess,
    lines: ReadableStreamDefaultReader<string>,
    report: T,
  ) {
    this.#process = process;
    this.#lines = lines;
    this.report = report;
  }

  static async start<T>(name: string, ...args: string[]): Promise<Script<T>> {
    const process = spawn(["run", "-A", "--cached-only", `${SCRIPTS}/${name}`, ...args], {
      stdin: "piped",
      stdout: "piped",
    });
    const lines = process.stdout.pipeThrough(new TextLineStream()).getReader();
    return new Script(process, lines, await nextReport<T>(name, lines));
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Writes a job as one line; returns the line that the script prints when it is done. */
  async run<R>(job: unknown): Promise<R> {
    const writer = this.#process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`));
    writer.releaseLock();
    return await nextReport<R>(JSON.stringify(job), this.#lines);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stdin.close().catch(() => undefined);
    await this.#process.status;
    await this.#lines.cancel();
  }
}

async function nextReport<T>(
  what: string,
  lines: ReadableStreamDefaultReader<string>,
): Promise<T> {
  const { value } = await lines.read();
  if (value === undefined) throw new Error(`The script ended without a report: ${what}`);
  return JSON.parse(value) as T;
}

/** A directory that is removed afterwards. */
export function temporary(): { readonly path: string } & Disposable {
  const path = Deno.makeTempDirSync({ prefix: "mesh-bench-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

export function spawn(args: string[], options: Deno.CommandOptions): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), { args, stderr: "inherit", ...options }).spawn();
}

async function noticeOf(
  path: string,
  process: Deno.ChildProcess,
  from: number,
): Promise<{ url: string }> {
  let ended = false;
  process.status.then(() => ended = true);
  while (!ended && performance.now() - from < START_MS_MAX) {
    try {
      return JSON.parse(Deno.readTextFileSync(path));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("The daemon did not start");
}
