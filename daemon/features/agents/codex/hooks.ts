/** Codex's hooks, in Claude Code's format, and the Codex process that ran them. */

import * as z from "zod";
import { claudeCodeHooks } from "../hooks/claude_format.ts";
import type { HookFacts, HookReader, HookReport } from "../adapter.ts";
import { argumentsOf, commandOf, lineageOf, parentOf } from "../../../host/processes.ts";

/** The fields that Codex adds to every event. */
const AddedFields = z.object({ model: z.string().min(1).optional().catch(undefined) });

/** The facts for a hook that no session's own process ran: its place is unknown. */
const NO_LOCATION = {
  agent_pid: undefined,
  pane_id: undefined,
  pane_pid: undefined,
  tmux_socket: undefined,
  tmux_session: undefined,
  circle: undefined,
} as const;

/** `findHost` finds the Codex process above a process; tests pass their own. */
export function codexHooks(findHost: (pid: number) => CodexHost | undefined = hostOf): HookReader {
  return {
    ...claudeCodeHooks,
    read: readHook,
    tool_context: { event: "PostToolUse", keeps_marker: true },
    /**
     * Hooks of the shared server inherit the environment of the first terminal, so the pane in it
     * may be another session's and is dropped. Hooks of a session with its own process show where
     * that session is.
     */
    locate(facts: HookFacts): HookFacts {
      const host = facts.hook_pid === undefined ? undefined : findHost(facts.hook_pid);
      if (host?.kind === "session") return { ...facts, agent_pid: host.pid };
      const by_server = host !== undefined;
      return { ...NO_LOCATION, by_server, is_late: !by_server && facts.is_late };
    },
  };
}

function readHook(payload: unknown): HookReport {
  const report = claudeCodeHooks.read(payload);
  if (report.subagent) return report;
  const { data } = AddedFields.safeParse(payload);
  const model = report.model ?? data?.model;
  // The human interrupted the turn, at a dialog or elsewhere. No Stop event follows, so the turn
  // state is set here.
  if (report.event === "Interrupt") {
    return { ...report, model, turn_state: "idle", interrupted: true };
  }
  return { ...report, model };
}

/** The nearest Codex process above a process. */
export interface CodexHost {
  readonly pid: number;
  /**
   * `session` means that the process runs one session itself (`--no-daemon`, `exec`), in the
   * session's own pane. `server` means that the process runs the sessions of many terminals, in the
   * environment of the first terminal.
   */
  readonly kind: "session" | "server";
}

interface ProcessFacts {
  commandOf(pid: number): string | undefined;
  argumentsOf(pid: number): readonly string[] | undefined;
  parentOf(pid: number): number | undefined;
}

const SYSTEM_FACTS: ProcessFacts = { commandOf, argumentsOf, parentOf };

/** The Codex process that started this process; undefined if none did. */
export function hostOf(pid: number, table: ProcessFacts = SYSTEM_FACTS): CodexHost | undefined {
  const found = lineageOf(table, pid).find((at) => table.commandOf(at) === "codex");
  if (found === undefined) return undefined;
  const isServer = table.argumentsOf(found)?.includes("app-server") ?? true;
  return { pid: found, kind: isServer ? "server" : "session" };
}
