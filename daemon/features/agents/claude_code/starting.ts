/**
 * Sessions that have just started. Claude Code (2.1.329) sends a prompt to its model before its MCP
 * servers have connected: the model would find no tool with which to answer an ask.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { type Clock, hasPassed, type Monotonic } from "kit/core/clock.ts";
import type { AgentPeer, HookReader, HookReport } from "../adapter.ts";

/** After this time, a session counts as one without the tools of mesh. */
const STARTING_MS_MAX = 10_000;
const SESSIONS_MAX = 1000;
const STARTS: readonly (string | undefined)[] = ["startup", "resume", "fork"];

export class StartingSessions {
  readonly #clock: Clock;
  readonly #hasTools: (agent_pid: number) => boolean;
  readonly #started = new Map<string, Monotonic>();

  constructor(clock: Clock, hasTools: (agent_pid: number) => boolean) {
    this.#clock = clock;
    this.#hasTools = hasTools;
  }

  /** The reader of hooks, which notes the sessions that start. */
  watch(reader: HookReader): HookReader {
    const read = (payload: unknown): HookReport => {
      const report = reader.read(payload);
      const { session_id, source, subagent } = report;
      if (STARTS.includes(source) && !subagent) {
        setLatest(this.#started, session_id, this.#clock.monotonic(), SESSIONS_MAX);
      }
      return report;
    };
    return { ...reader, read };
  }

  /** True if a session has started a moment ago, and its agent has no tools of mesh yet. */
  has({ agent_pid, runtime_session_id: session_id }: AgentPeer): boolean {
    const started = this.#started.get(session_id ?? "");
    if (started === undefined || agent_pid === null) return false;
    const isOver = hasPassed(STARTING_MS_MAX, started, this.#clock.monotonic()) ||
      this.#hasTools(agent_pid);
    if (isOver) this.#started.delete(session_id ?? "");
    return !isOver;
  }
}
