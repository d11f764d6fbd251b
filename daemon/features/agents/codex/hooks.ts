/** What Codex's hooks tell us, in Claude Code's format; and which Codex it was that ran them. */

import * as z from "zod";
import { claudeCodeHooks } from "../hooks/claude_format.ts";
import type { HookFacts, HookReader, HookReport } from "../adapter.ts";
import { argumentsOf, commandOf, parentOf } from "../../../host/processes.ts";

/** What Codex adds to every event. */
const AddedFields = z.object({ model: z.string().min(1).optional().catch(undefined) });

/** Where a hook that names no process, or whose process nobody knows, says nothing. */
const NO_LOCATION = {
  agent_pid: undefined,
  pane_id: undefined,
  tmux_socket: undefined,
  tmux_session: undefined,
  circle: undefined,
} as const;

/** `find` names the Codex above a process; a test gives its own. */
export function codexHooks(findHost: (pid: number) => CodexHost | undefined = hostOf): HookReader {
  return {
    ...claudeCodeHooks,
    read: readHook,
    /**
     * Hooks of the shared server have the environment of the first terminal: their pane is
     * another session's. A session that runs in a process of its own is where its hooks are.
     */
    locate(facts: HookFacts): HookFacts {
      const host = facts.hook_pid === undefined ? undefined : findHost(facts.hook_pid);
      return host?.kind === "session" ? { ...facts, agent_pid: host.pid } : NO_LOCATION;
    },
  };
}

function readHook(payload: unknown): HookReport {
  const report = claudeCodeHooks.read(payload);
  const { data } = AddedFields.safeParse(payload);
  const model = report.model ?? data?.model;
  // The human broke the turn off, at a dialog or elsewhere; no Stop follows.
  if (report.event === "Interrupt") return { ...report, model, turn_state: "idle" };
  return { ...report, model };
}

// Whose child a hook or an MCP server is.

/** How far a hook may stand below Codex: a shell and a launcher or two. */
const GENERATIONS_MAX = 16;

/** The nearest Codex above a process. */
export interface CodexHost {
  readonly pid: number;
  /**
   * `session`: it runs the session itself (`--no-daemon`, `exec`), and its pane is the session's.
   * `server`: it runs the sessions of many terminals, in the environment of whichever was first.
   */
  readonly kind: "session" | "server";
}

/** The few facts about processes that tell it. */
export interface ProcessFacts {
  commandOf(pid: number): string | undefined;
  argumentsOf(pid: number): readonly string[] | undefined;
  parentOf(pid: number): number | undefined;
}

const SYSTEM_FACTS: ProcessFacts = { commandOf, argumentsOf, parentOf };

/** The Codex that started this process; undefined when none did. */
export function hostOf(pid: number, table: ProcessFacts = SYSTEM_FACTS): CodexHost | undefined {
  let at: number | undefined = pid;
  for (let depth = 0; at !== undefined && depth < GENERATIONS_MAX; depth++) {
    if (table.commandOf(at) === "codex") {
      const isServer = table.argumentsOf(at)?.includes("app-server") ?? true;
      return { pid: at, kind: isServer ? "server" : "session" };
    }
    at = table.parentOf(at);
  }
  return undefined;
}
