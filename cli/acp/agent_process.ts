/** The process of an agent: started with pipes, and ended by closing them first. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { CommandError } from "../client/failures.ts";
import { type Env } from "../../daemon/host/paths.ts";
import { ProgramGroup } from "../../daemon/host/program_group.ts";
import type { RpcStreams } from "./json_rpc.ts";

/** Time limit for an agent to end by itself. */
const END_MS_MAX = 1_500;

export class AgentProcess {
  readonly #clock: Clock;
  readonly #group: ProgramGroup;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  /** Starts the program. It writes to the standard error of this process. */
  constructor(argv: readonly string[], env: Env, clock: Clock) {
    this.#clock = clock;
    const stdio = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    this.#group = new ProgramGroup(argv, { env, ...stdio });
    this.#writer = this.#group.child.stdin.getWriter();
  }

  get streams(): RpcStreams {
    return {
      input: this.#group.child.stdout,
      write: (bytes) => this.#writer.write(bytes),
    };
  }

  /** Its exit code, once it has ended; after a signal, 128 and the signal's number. */
  get code(): Promise<number> {
    return this.#group.child.status.then(({ code }) => code);
  }

  /**
   * Waits until the agent ends, up to the time limit. Then ends all remaining processes that it
   * started.
   */
  async end(): Promise<void> {
    // Not awaited: a stopped agent does not read its input. The pipe may be broken, if the agent
    // has ended already.
    this.#writer.close().catch(() => undefined);
    await timeout(this.#clock, END_MS_MAX, this.#group.child.status);
    // The group has the launcher, the MCP servers, and the processes that tools start.
    const left = await this.#group.end(this.#clock);
    if (left.length === 0) return;
    throw new CommandError(`The agent does not end; its processes are ${left.join(", ")}`);
  }
}
