/** Claude Code's own session registry: the process, state and socket of each session. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readWhole } from "../../../host/agent_files.ts";
import { type IsAlive, isAlive } from "../../../host/processes.ts";
import type { ReportedWait, WaitKind } from "protocol/peers/record.ts";
import type { AgentPeer } from "../adapter.ts";
import { isTestedPatchOrLater } from "../definition.ts";

/** The largest file that is read. An entry or a key needs far less. */
const ENTRY_BYTES_MAX = 65_536;

/** The contents of `<config dir>/sessions/<pid>.json` as of 2.1.329. Other versions may differ. */
export const Session = z.object({
  pid: z.number().int().positive(),
  sessionId: z.string().min(1),
  cwd: z.string(),
  version: z.string(),
  /** Start time of `pid`: clock ticks since boot, as in /proc/<pid>/stat. */
  procStart: z.string().optional(),
  peerProtocol: z.number().optional(),
  messagingSocketPath: z.string().startsWith("/").optional(),
  /** `waiting` while a dialog is open. */
  status: z.enum(["idle", "busy", "waiting"]).optional().catch(undefined),
  waitingFor: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
  name: z.string().optional(),
  tmux: z.string().optional(),
});
export type Session = z.infer<typeof Session>;

/** The contents of `<config dir>/sessions/<pid>.<hash>.key`. */
const SessionKey = z.object({ peerToken: z.string().min(1), procStart: z.string().optional() });

const TURN_STATE_OF = { idle: "idle", busy: "working", waiting: "awaiting_input" } as const;

/** The session that this process runs. Ignores entries that a killed process left behind. */
export function sessionOf(
  config_dirs: readonly string[],
  pid: number,
  checkAlive: IsAlive = isAlive,
): Session | undefined {
  for (const config_dir of config_dirs) {
    const session = read(Session, join(config_dir, "sessions", `${pid}.json`));
    if (session?.pid === pid && checkAlive(pid, startTicks(session))) return session;
  }
  return undefined;
}

/** The running process that has a session open; undefined if none has. */
export function processOf(
  config_dirs: readonly string[],
  session_id: string,
  checkAlive: IsAlive = isAlive,
): number | undefined {
  for (const config_dir of config_dirs) {
    for (const name of namesIn(join(config_dir, "sessions"))) {
      const pid = Number(/^(\d+)\.json$/.exec(name)?.[1]);
      const session = pid > 0 ? sessionOf([config_dir], pid, checkAlive) : undefined;
      if (session?.sessionId === session_id) return pid;
    }
  }
  return undefined;
}

/** The session of a registered agent; undefined if its process is no longer the registered one. */
export function sessionOfPeer(
  config_dirs: readonly string[],
  { agent_pid, agent_started }: AgentPeer,
  checkAlive: IsAlive = isAlive,
): Session | undefined {
  if (agent_pid === null || !checkAlive(agent_pid, agent_started ?? undefined)) return undefined;
  return sessionOf(config_dirs, agent_pid, checkAlive);
}

/**
 * The token with which other sessions of the user write to this session. Claude Code keeps it in a
 * file next to the session's entry.
 */
export function peerToken(config_dirs: readonly string[], session: Session): string | undefined {
  for (const config_dir of config_dirs) {
    const dir = join(config_dir, "sessions");
    for (const name of namesIn(dir)) {
      if (!name.startsWith(`${session.pid}.`) || !name.endsWith(".key")) continue;
      const key = read(SessionKey, join(dir, name));
      if (key && key.procStart === session.procStart) return key.peerToken;
    }
  }
  return undefined;
}

/** The version of the socket's protocol that was tested. */
const TESTED_PROTOCOL = 1;

/**
 * True if the session's socket may be used. The socket never answers, so a release that ignores a
 * line looks like one that accepts it. A later patch is accepted while it reports the same
 * protocol. Messages to other releases go through the pane.
 */
export function isTestedVersion(
  { version, peerProtocol }: Pick<Session, "version" | "peerProtocol">,
  tested_version: string,
): boolean {
  return peerProtocol === TESTED_PROTOCOL && isTestedPatchOrLater(version, tested_version);
}

/** The kinds of dialogs, by the names of 2.1.329 in `waitingFor`. */
const DIALOGS: ReadonlyMap<string | undefined, WaitKind> = new Map([
  ["permission prompt", "permission"],
  ["sandbox request", "permission"],
  ["input needed", "question"],
]);

/** The dialog that a session waits at, if any. */
export function waitOfSession({ status, waitingFor }: Session): ReportedWait | undefined {
  return status === "waiting" ? { kind: DIALOGS.get(waitingFor) ?? "dialog" } : undefined;
}

export function turnState({ status }: Session): AgentPeer["turn_state"] {
  return status === undefined ? null : TURN_STATE_OF[status];
}

/** The start time, if it is in clock ticks: only they can be compared. */
function startTicks({ procStart }: Session): string | undefined {
  return procStart !== undefined && /^\d+$/.test(procStart) ? procStart : undefined;
}

/**
 * Reads and parses a file. Undefined for a file that is missing, incomplete or of unknown form.
 * Also undefined for a file of another user, because the file decides where messages go.
 */
function read<T>(shape: z.ZodType<T>, path: string): T | undefined {
  return shape.safeParse(tryJson(readWhole(path, ENTRY_BYTES_MAX, { own: true }) ?? "")).data;
}
