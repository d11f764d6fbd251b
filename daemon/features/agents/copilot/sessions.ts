/** Copilot CLI's session records: the activity of a session, and a check if it can be resumed. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readTail, readWhole } from "../../../host/agent_files.ts";
import type { WaitKind } from "protocol/peers/record.ts";
import type { Observation, ResumableSession, ResumeResult } from "../adapter.ts";
import { Timestamp } from "../sessions/pages.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** Bytes of a session's records read per observation. The records of a turn are shorter. */
const TAIL_BYTES = 65_536;
/** Bytes of the records that are read to find the last message. */
const MESSAGE_TAIL_BYTES = 1_048_576;
/** The largest file of records that is read to resume a session. */
const RECORDS_BYTES_MAX = 268_435_456;
/** The largest lock file that is read. It holds little more than a pid. */
const LOCK_BYTES_MAX = 65_536;
/**
 * Maximum delay of an ended turn's records, and the interval at which the file is read meanwhile.
 */
const LATE_MS_MAX = 1_000;
const POLL_INTERVAL_MS = 20;
/** Maximum sessions whose activity is cached. */
const SESSIONS_MAX = 200;
const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The tool that asks the user a question. */
const ASK_USER_TOOL = "ask_user";

const SessionRecord = z.object({
  type: z.string(),
  timestamp: Timestamp,
  /** The subagent that the record belongs to; absent for a record of the session itself. */
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
    /** In a record about a hook, the hook's type. The hook's input is in `input`. */
    hookType: z.string().optional(),
    input: z.object({ timestamp: z.number().optional() }).optional().catch(undefined),
    context: z.object({ cwd: z.string().optional() }).optional(),
  }),
});
type SessionRecord = z.infer<typeof SessionRecord>;

/** Activity of a session according to its records, and its start. */
export interface Activity extends Pick<Observation, "turn_state" | "waits_for" | "model"> {
  readonly at: number;
}

/** Reads the records of sessions, each again only after it has changed. */
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
   * The activity of the session. Undefined if this process does not hold the session's lock,
   * because another process then wrote the records. A resumed session writes nothing before its
   * first prompt, so until then its records are older than its process.
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
  const dialogs = new Map<string, WaitKind>();
  for (const { type, timestamp, agentId, data } of records) {
    const { requestId = "", toolCallId = "" } = data;
    if (type === "permission.requested") dialogs.set(requestId, "permission");
    if (type === "permission.completed") dialogs.delete(requestId);
    if (type === "tool.execution_start" && data.toolName === ASK_USER_TOOL) {
      dialogs.set(toolCallId, "question");
    }
    if (type === "tool.execution_complete") dialogs.delete(toolCallId);
    if (/^permission/.test(type)) at = timestamp;
    // A subagent's dialogs count as the session's dialogs, but a subagent's turns do not count as
    // the session's turns.
    if (agentId !== undefined) continue;
    model = data.newModel ?? data.model ?? data.selectedModel ?? model;
    turn = TURNS.get(type) ?? turn;
    if (TURNS.get(type) === "idle") dialogs.clear();
    if (ACTIVITY_TYPES.test(type)) at = timestamp;
  }
  const [kind] = dialogs.values();
  return kind
    ? { turn_state: "awaiting_input", waits_for: { kind }, model, at }
    : { turn_state: turn, model, at };
}

/** The types of records, besides permissions, that show a session's activity. */
const ACTIVITY_TYPES = /^(session\.(start|resume|error)|user|assistant|tool|abort)\b/;

/** The turn state after a record. In a tool loop, one turn follows another without a pause. */
const TURNS: ReadonlyMap<string, "idle" | "working"> = new Map([
  ["session.start", "idle"],
  ["session.resume", "idle"],
  ["user.message", "working"],
  ["assistant.turn_start", "working"],
  ["assistant.turn_end", "idle"],
  ["abort", "idle"],
  ["session.error", "idle"],
]);

/**
 * The last message of the turn that ended with this hook event, which is found by its timestamp.
 * The record of the event follows the records of the turn. It may be written after the hook has
 * run, so the file is read again until it is there.
 */
export async function lastMessageOf(
  config_dir: string,
  { id, stopped_at }: { id: string; stopped_at: number | undefined },
  clock: Clock,
): Promise<string> {
  const path = recordsFileOf(config_dir, id);
  if (path === undefined) return "";
  const give_up_at = clock.monotonic() + LATE_MS_MAX;
  for (;;) {
    const records = parseRecords(readTail(path, MESSAGE_TAIL_BYTES) ?? "");
    const end = records.findLastIndex(({ data: { hookType, input } }) =>
      hookType === STOP_HOOK && input?.timestamp === stopped_at
    );
    if (end >= 0) return lastAssistantText(records.slice(0, end));
    if (clock.monotonic() >= give_up_at) return lastAssistantText(records);
    await clock.sleep(POLL_INTERVAL_MS);
  }
}

const STOP_HOOK = "agentStop";

/** The last text since the last prompt. A message that calls a tool may have none. */
function lastAssistantText(records: readonly SessionRecord[]): string {
  const own = records.filter(({ agentId }) => agentId === undefined);
  const turn = own.slice(own.findLastIndex(({ type }) => type === "user.message") + 1);
  return turn.findLast(({ type, data }) => type === "assistant.message" && data.content)
    ?.data.content ?? "";
}

/**
 * The way to resume a session. `--resume` finds only sessions with a conversation, and changes to
 * the session's own folder.
 */
export function resumeOf(
  config_dir: string,
  { runtime_session_id: id, path }: ResumableSession,
): ResumeResult {
  const refuse = (reason: string): ResumeResult => ({ ok: false, reason });
  if (!SESSION_ID.test(id)) return refuse("The id is not a session id of Copilot CLI");
  const folder = folderOf(config_dir, id);
  const records = parseRecords(readWhole(join(folder, "events.jsonl"), RECORDS_BYTES_MAX) ?? "");
  const isOwnFile = records.some(({ type, data }) =>
    type === "session.start" && data.sessionId === id
  );
  if (!isOwnFile) return refuse(`No session ${id} in ${join(config_dir, "session-state")}`);
  if (!records.some(({ type }) => type === "user.message")) {
    return refuse(`Session ${id} has no conversation yet`);
  }
  const cwd = records.findLast(({ data }) => data.context?.cwd)?.data.context?.cwd;
  return cwd === path
    ? { ok: true, args: ["--resume", id] }
    : refuse(`Session ${id} belongs to the folder ${cwd ?? "(none)"}`);
}

/**
 * The process of Copilot CLI that has a session open. A killed one leaves its lock behind, and its
 * pid may be another program's by now.
 */
export function processOf(
  config_dir: string,
  id: string,
  argumentsOf: (pid: number) => readonly string[] | undefined,
): number | undefined {
  if (!SESSION_ID.test(id)) return undefined;
  return namesIn(folderOf(config_dir, id))
    .map((name) => Number(/^inuse\.([1-9]\d*)\.lock$/.exec(name)?.[1]))
    .find((pid) => pid > 0 && argumentsOf(pid)?.some((word) => word.includes("copilot")));
}

/** The file of a session's records; undefined for an id of another form. */
export function recordsFileOf(config_dir: string, id: string): string | undefined {
  return SESSION_ID.test(id) ? join(folderOf(config_dir, id), "events.jsonl") : undefined;
}

export function folderOf(config_dir: string, id: string): string {
  return join(config_dir, "session-state", id);
}

/** The records of a text. Incomplete lines are dropped, such as a first line that was cut. */
function parseRecords(text: string): SessionRecord[] {
  return text.split("\n").flatMap((line) => SessionRecord.safeParse(tryJson(line)).data ?? []);
}

/** A value that changes whenever the file is written to; undefined if there is no file. */
function fileVersion(path: string): string | undefined {
  const file = unlessMissing(() => Deno.statSync(path));
  return file && `${file.size} ${file.mtime?.getTime()}`;
}
