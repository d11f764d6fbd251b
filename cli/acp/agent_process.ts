/** The process of an agent: started with pipes, and ended by closing them first. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { CommandError } from "../client/failures.ts";
import { type Env } from "../../daemon/host/paths.ts";
import { startTimeOf, terminate, treeOf } from "../../daemon/host/processes.ts";
import type { RpcStreams } from "./json_rpc.ts";

/** How long an agent may take to end by itself, after SIGTERM, and after SIGKILL. */
const END_MS = { by_itself: 1_500, after_term: 3_000, after_kill: 1_000 } as const;

/** An agent, its launchers, its MCP servers and what its tools run. */
const PROCESSES_MAX = 256;

export class AgentProcess {
  readonly #clock: Clock;
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  /** Starts the program. What it writes on its standard error is shown as it is. */
  constructor([program = "", ...args]: readonly string[], env: Env, clock: Clock) {
    this.#clock = clock;
    const stdio = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    const command = new Deno.Command(program, { args, env: { ...env }, clearEnv: true, ...stdio });
    this.#child = command.spawn();
    this.#writer = this.#child.stdin.getWriter();
  }

  get streams(): RpcStreams {
    return {
      input: this.#child.stdout,
      write: (bytes) => this.#writer.write(bytes),
    };
  }

  /** Its exit code, once it has ended; after a signal, 128 and the signal's number. */
  get code(): Promise<number> {
    return this.#child.status.then(({ code }) => code);
  }

  /** Ends it, and waits until it has ended. */
  async end(): Promise<void> {
    // The pipe may be broken, if it has ended already.
    await this.#writer.close().catch(() => undefined);
    if (await timeout(this.#clock, END_MS.by_itself, this.#child.status)) return;
    // Some agents run below a launcher, which would leave them behind.
    const tree = treeOf(this.#child.pid, PROCESSES_MAX).flatMap((pid) => {
      const started = startTimeOf(pid);
      return started === undefined ? [] : [{ pid, started }];
    });
    const ends = await Promise.all(tree.map((process) =>
      terminate(process, {
        clock: this.#clock,
        term_ms: END_MS.after_term,
        kill_ms: END_MS.after_kill,
      })
    ));
    const left = tree.filter((_, at) => ends[at] === "alive" || ends[at] === "forbidden");
    if (left.length === 0) return;
    const pids = left.map(({ pid }) => pid).join(", ");
    throw new CommandError(`The agent does not end; its processes are ${pids}`);
  }
}
