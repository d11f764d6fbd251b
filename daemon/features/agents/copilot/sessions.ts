/** Copilot CLI's records of its sessions: what one does now, whether it can be taken up again. */

import { join } from "node:path";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import { readTail, readWhole } from "../../../host/agent_files.ts";
import type { Observation, ResumeResult } from "../adapter.ts";

/** What is read of a session's records at each look: more than a turn's last few of them. */
const TAIL_BYTES = 65_536;
/** More than a last answer takes. */
const MESSAGE_TAIL_BYTES = 1_048_576;
/** Longer records are not gone through to take a session up again. */
const RECORDS_BYTES_MAX = 268_435_456;
/** It holds little more than a pid. */
const LOCK_BYTES_MAX = 65_536;
/** How long the records of a turn that has ended may be late, and how often they are looked at. */
const LATE_MS_MAX = 1_000;
const POLL_INTERVAL_MS = 20;
/** Sessions of which it is kept what they do. */
const SESSIONS_MAX = 200;
const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A tool whose run is a dialog. */
const ASK_USER_TOOL = "ask_user";

const SessionRecord = z.object({
  type: z.string(),
  timestamp: z.iso.datetime().transform((text) => Date.parse(text)),
  /** The subagent whose record it is. */
  agentId: z.string().optional(),
  data: z.object({
    sessionId: z.string().optional(),
    requestId: z.string().optional(),
    toolCallId: z.string().optional(),
    toolName: z.string().optional(),
    model: z.string().optional(),
    newModel: z.string().optional(),
    selectedModel: z.string().optional(),
    content: z.string().optional().catch(undefined),
    /** Of a hook that is run: which, and what it is handed. */
    hookType: z.string().optional(),
    input: z.object({ timestamp: z.number().optional() }).optional().catch(undefined),
    context: z.object({ cwd: z.string().optional() }).optional(),
  }),
});
type SessionRecord = z.infer<typeof SessionRecord>;

/** What a session does, in its own word, and since when. */
export interface Activity extends Pick<Observation, "turn_state" | "model"> {
  readonly at: number;
}

/** The records of all sessions; one's are read again only once something was added to them. */
export class SessionRecords {
  readonly #config_dir: string;
  readonly #cached = new Map<
    string,
    { readonly file_version: string; readonly activity: Activity }
  >();

  constructor(config_dir: string) {
    this.#config_dir = config_dir;
  }

  /**
   * What the session does now; undefined when its records are not this process's: one that was
   * taken up again writes nothing before its first prompt, and what stands there is from before.
   */
  activityOf(id: string, pid: number): Activity | undefined {
    if (!SESSION_ID.test(id)) return undefined;
    const folder = folderOf(this.#config_dir, id);
    if (readWhole(join(folder, `inuse.${pid}.lock`), LOCK_BYTES_MAX) === undefined) {
      return undefined;
    }
    const path = join(folder, "events.jsonl");
    const file_version = fileVersion(path);
    if (file_version === undefined) return undefined;
    const known = this.#cached.get(id);
    if (known?.file_version === file_version) return known.activity;
    const activity = activityIn(parseRecords(readTail(path, TAIL_BYTES) ?? ""));
    if (this.#cached.size >= SESSIONS_MAX) this.#cached.clear();
    this.#cached.set(id, { file_version, activity });
    return activity;
  }
}

function activityIn(records: readonly SessionRecord[]): Activity {
  let turn: Activity["turn_state"] = null;
  let model: string | undefined;
  let at = 0;
  const dialogs = new Set<string>();
  for (const { type, timestamp, agentId, data } of records) {
    const { requestId = "", toolCallId = "" } = data;
    if (type === "permission.requested") dialogs.add(requestId);
    if (type === "permission.completed") dialogs.delete(requestId);
    if (type === "tool.execution_start" && data.toolName === ASK_USER_TOOL) dialogs.add(toolCallId);
    if (type === "tool.execution_complete") dialogs.delete(toolCallId);
    if (/^permission/.test(type)) at = timestamp;
    if (agentId !== undefined) continue; // Its dialogs are the session's, its turns are not.
    model = data.newModel ?? data.model ?? data.selectedModel ?? model;
    turn = TURNS.get(type) ?? turn;
    if (TURNS.get(type) === "idle") dialogs.clear();
    if (ACTIVITY_TYPES.test(type)) at = timestamp;
  }
  return { turn_state: dialogs.size > 0 ? "awaiting_input" : turn, model, at };
}

/** The records, beside permissions, that tell what a session does. */
const ACTIVITY_TYPES = /^(session\.(start|resume)|user|assistant|tool|abort)\b/;

/** A tool loop is one turn after the other, with no time in between. */
const TURNS: ReadonlyMap<string, "idle" | "working"> = new Map([
  ["session.start", "idle"],
  ["session.resume", "idle"],
  ["user.message", "working"],
  ["assistant.turn_start", "working"],
  ["assistant.turn_end", "idle"],
  ["abort", "idle"],
]);

/**
 * What was said last in the turn whose end this hook tells, by the time that stands in it; no hook
 * holds it. The record of the hook follows those of the turn, and may be written after it is run.
 */
export async function lastMessageOf(
  config_dir: string,
  { id, stopped_at }: { id: string; stopped_at: number | undefined },
  clock: Clock,
): Promise<string> {
  if (!SESSION_ID.test(id)) return "";
  const path = join(folderOf(config_dir, id), "events.jsonl");
  const give_up_at = clock.now() + LATE_MS_MAX;
  for (;;) {
    const records = parseRecords(readTail(path, MESSAGE_TAIL_BYTES) ?? "");
    const end = records.findLastIndex(({ data: { hookType, input } }) =>
      hookType === STOP_HOOK && input?.timestamp === stopped_at
    );
    if (end >= 0) return lastAssistantText(records.slice(0, end));
    if (clock.now() >= give_up_at) return lastAssistantText(records);
    await clock.sleep(POLL_INTERVAL_MS);
  }
}

const STOP_HOOK = "agentStop";

/** The last text since the last prompt; a call of a tool may come with none. */
function lastAssistantText(records: readonly SessionRecord[]): string {
  const own = records.filter(({ agentId }) => agentId === undefined);
  const turn = own.slice(own.findLastIndex(({ type }) => type === "user.message") + 1);
  return turn.findLast(({ type, data }) => type === "assistant.message" && data.content)
    ?.data.content ?? "";
}

/** `--resume` finds sessions in which something was said, and goes to their folder by itself. */
export function resumeOf(
  config_dir: string,
  { runtime_session_id: id, path }: { runtime_session_id: string; path: string },
): ResumeResult {
  const refuse = (reason: string): ResumeResult => ({ ok: false, reason });
  if (!SESSION_ID.test(id)) return refuse("The session's id is none of Copilot CLI's");
  const folder = folderOf(config_dir, id);
  const records = parseRecords(readWhole(join(folder, "events.jsonl"), RECORDS_BYTES_MAX) ?? "");
  const isOwnFile = records.some(({ type, data }) =>
    type === "session.start" && data.sessionId === id
  );
  if (!isOwnFile) return refuse(`No session ${id} in ${join(config_dir, "session-state")}`);
  if (!records.some(({ type }) => type === "user.message")) {
    return refuse(`Nothing was said in session ${id} yet`);
  }
  const cwd = records.findLast(({ data }) => data.context?.cwd)?.data.context?.cwd;
  return cwd === path
    ? { ok: true, args: ["--resume", id] }
    : refuse(`Session ${id} is at home in ${cwd ?? "no folder"}`);
}

function folderOf(config_dir: string, id: string): string {
  return join(config_dir, "session-state", id);
}

/** The records in whole lines; a first one that was cut is none. */
function parseRecords(text: string): SessionRecord[] {
  return text.split("\n").flatMap((line) => SessionRecord.safeParse(tryJson(line)).data ?? []);
}

/** What changes with a file that is added to; undefined when there is none. */
function fileVersion(path: string): string | undefined {
  try {
    const { size, mtime } = Deno.statSync(path);
    return `${size} ${mtime?.getTime()}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
