/** Peers in processes of their own, which use a client package. */

import assert from "node:assert/strict";
import { TextLineStream } from "../programs/lines.ts";
import { until } from "../waiting.ts";

type Line = Readonly<Record<string, unknown>>;

/** A runtime, and the client package for it. */
export interface Runtime {
  readonly title: string;
  /** The command line of the peer script. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The example of the package's README as a program. */
  readonly example: {
    readonly readme: string;
    /** The name of the file for it, and the command line that runs the file. */
    readonly file: string;
    readonly command: readonly string[];
    /** The module's name in the README, and its path in the tests. */
    readonly module: readonly [name: string, path: string];
  };
}

/** A running peer script. */
export class PeerProgram implements AsyncDisposable {
  readonly lines: Line[] = [];
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;

  constructor({ command: [program = "", ...args], env }: Runtime, options: PeerOptions) {
    const { name, state, id_file = "", mode = "" } = options;
    this.#process = new Deno.Command(program, {
      args: [...args, name, id_file, mode],
      env: { ...env, MESH_STATE: state, MESH_CONFIG: `${state}/config.yaml` },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#process.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Waits for the next line that has this key, and takes it. */
  async next(key: string): Promise<Line> {
    const at = await until(`a line with ${key}`, () => {
      const found = this.lines.findIndex((line) => key in line);
      return found >= 0 && { found };
    });
    return this.lines.splice(at.found, 1)[0] ?? {};
  }

  async run(verb: string, fields: Line = {}): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${JSON.stringify({ verb, ...fields })}\n`));
  }

  /** Resolves when the program has ended by itself. */
  get status(): Promise<Deno.CommandStatus> {
    return this.#process.status;
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended already.
      await this.#ended();
    }
  }

  async #ended(): Promise<void> {
    await this.#process.status;
    await this.#reading;
    await this.#input.close().catch(() => undefined);
  }

  async #read(): Promise<void> {
    for await (const line of this.#process.stdout.pipeThrough(new TextLineStream())) {
      this.lines.push(JSON.parse(line));
    }
  }
}

interface PeerOptions {
  readonly name: string;
  readonly state: string;
  readonly id_file?: string;
  readonly mode?: "hang";
}

export async function connectProgram(runtime: Runtime, options: PeerOptions) {
  const program = new PeerProgram(runtime, options);
  const { ready, name } = await program.next("ready");
  return Object.assign(program, { peer_id: String(ready), peer_name: String(name) });
}

/** Starts the example of the README; returns what it has printed so far. */
export function startExample({ example, env }: Runtime, state: string) {
  const { readme, file, command: [program = "", ...args], module: [name, path] } = example;
  const [, text = ""] = /^```(?:js|python)\n([^]*?)^```$/m.exec(Deno.readTextFileSync(readme)) ??
    [];
  assert.ok(text.includes(name));
  Deno.writeTextFileSync(`${state}/${file}`, text.replace(name, path));
  const process = new Deno.Command(program, {
    args: [...args, `${state}/${file}`],
    cwd: state,
    env: { ...env, MESH_STATE: state, MESH_CONFIG: `${state}/config.yaml`, PYTHONUNBUFFERED: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines: string[] = [];
  const reading = (async () => {
    for await (const line of process.stdout.pipeThrough(new TextLineStream())) lines.push(line);
  })();
  return {
    lines,
    async [Symbol.asyncDispose]() {
      process.kill("SIGKILL");
      await process.status;
      await reading;
    },
  };
}
