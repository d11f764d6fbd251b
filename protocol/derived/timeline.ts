/** The timeline of a session: one row for each tool call, with its result; reads are joined. */

import { cleanLine, tryJson } from "kit/core/text.ts";

/** The fields of an entry of a transcript that the timeline needs. */
export interface TimelineEntry {
  readonly position: number;
  readonly at: string | null;
  readonly kind: "prompt" | "text" | "tool_call" | "tool_result";
  readonly tool: string | null;
  readonly call: string | null;
  readonly outcome: "ok" | "failed" | "denied" | "interrupted" | null;
  readonly text: string;
  readonly chars: number;
}

/** `ended`: the agent went on without a recorded result. */
export type CallState = "running" | "ok" | "failed" | "denied" | "interrupted" | "ended";

export interface TimelineCall {
  /** The position of its entry. */
  readonly key: number;
  readonly tool: string;
  /** The object of the call in one line: a command, a path, a pattern. */
  readonly argument: string;
  readonly input: TimelineEntry | undefined;
  readonly state: CallState;
  readonly at: string | null;
  /** From the record of the call to that of its result; null if a time is not recorded. */
  readonly duration_ms: number | null;
  readonly result: TimelineEntry | undefined;
}

export type TimelineRow =
  | { readonly kind: "prompt" | "text"; readonly key: number; readonly entry: TimelineEntry }
  | { readonly kind: "call"; readonly key: number; readonly call: TimelineCall }
  | {
    readonly kind: "reads";
    readonly key: number;
    /** Such as `read 5 files`. */
    readonly title: string;
    readonly calls: readonly TimelineCall[];
    readonly duration_ms: number | null;
  };

/** `isWorking`: the agent is in a turn, so a call without a result may still run. */
export function toTimeline(
  entries: readonly TimelineEntry[],
  { isWorking }: { readonly isWorking: boolean },
): TimelineRow[] {
  const results = resultsOf(entries);
  const last_prompt = entries.findLastIndex(({ kind }) => kind === "prompt");
  const rows: TimelineRow[] = [];
  for (const [at, entry] of entries.entries()) {
    const { kind, position: key } = entry;
    if (kind === "tool_result") {
      // Its call is on an earlier page.
      if (!results.paired.has(entry)) {
        rows.push({ kind: "call", key, call: callOf(undefined, entry) });
      }
    } else if (kind === "tool_call") {
      const mayRun = isWorking && at > last_prompt;
      rows.push({ kind: "call", key, call: callOf(entry, results.of.get(entry), mayRun) });
    } else rows.push({ kind, key, entry });
  }
  return joinReads(rows);
}

/** The result of each call: the last one with its id; without ids, in the order of the calls. */
function resultsOf(entries: readonly TimelineEntry[]) {
  const of = new Map<TimelineEntry, TimelineEntry>();
  const paired = new Set<TimelineEntry>();
  const byId = new Map<string, TimelineEntry>();
  const waiting: TimelineEntry[] = [];
  for (const entry of entries) {
    const { kind, call } = entry;
    if (kind === "tool_call") {
      if (call === null) waiting.push(entry);
      else byId.set(call, entry);
    }
    if (kind !== "tool_result") continue;
    const made = call === null ? waiting.shift() : byId.get(call);
    if (!made) continue;
    of.set(made, entry);
    paired.add(entry);
  }
  return { of, paired };
}

function callOf(
  input: TimelineEntry | undefined,
  result: TimelineEntry | undefined,
  mayRun = false,
): TimelineCall {
  return {
    key: input?.position ?? result?.position ?? 0,
    tool: cleanLine(input?.tool ?? result?.tool ?? "tool"),
    argument: input ? argumentOf(input.text) : "",
    input,
    state: result ? result.outcome ?? "ok" : mayRun ? "running" : "ended",
    at: input?.at ?? null,
    duration_ms: durationOf(input?.at, result?.at),
    result,
  };
}

/** Null for times that are not recorded, or not in order. */
function durationOf(began: string | null = null, ended: string | null = null): number | null {
  if (began === null || ended === null) return null;
  const ms = Date.parse(ended) - Date.parse(began);
  return ms >= 0 ? ms : null;
}

/** Maximum characters of an argument. */
const ARGUMENT_CHARS_MAX = 200;
/** The fields that say what a call acts on, the best first, in the words of all agents. */
const FIELDS = [
  ...["command", "cmd", "script", "file_path", "filePath", "absolute_path", "notebook_path"],
  ...["dir_path", "path", "pattern", "query", "url", "uri", "skill", "subject", "question"],
  ...["description", "prompt", "name", "title", "text", "input"],
];
/** The files of a patch, as Codex writes it. */
const PATCHED = /\*\*\* (?:Add|Update|Delete) File: ([^\n\\"]+)/g;

/** The object of a call in one line. Its input may be shortened, and is not JSON then. */
function argumentOf(text: string): string {
  const patched = Array.from(text.matchAll(PATCHED), ([, path = ""]) => path.trim());
  if (patched.length > 0) return shortLine(patched.join(", "));
  const json = tryJson(text);
  if (typeof json !== "object" || json === null) {
    const field = FIELDS.map((name) => cutField(text, name)).find((value) => value !== undefined);
    return shortLine(field ?? (json === undefined ? text : String(json)));
  }
  const values = new Map(Object.entries(json));
  for (const name of [...FIELDS, ...values.keys()]) {
    const value = lineOf(values.get(name));
    if (value !== "") return shortLine(value);
  }
  return "";
}

/** A command may be a list of words. */
function lineOf(value: unknown): string {
  if (typeof value === "string") return value;
  const isWords = Array.isArray(value) && value.every((word) => typeof word === "string");
  return isWords ? value.join(" ") : "";
}

/** The value of a field of shortened JSON, which may be cut off itself. */
function cutField(text: string, name: string): string | undefined {
  const start = text.indexOf(`"${name}":"`);
  if (start < 0) return undefined;
  const value = /^(?:[^"\\]|\\.)*/.exec(text.slice(start + name.length + 4))?.[0] ?? "";
  return String(tryJson(`"${value}"`) ?? value);
}

function shortLine(text: string): string {
  const line = cleanLine(text).trim();
  return line.length > ARGUMENT_CHARS_MAX
    ? `${line.slice(0, ARGUMENT_CHARS_MAX).toWellFormed()}…`
    : line;
}

/** Tools that read a file, list a folder, or search, in the words of all agents. */
const READS = /^(?:read|read_?file|read_many_files|view|cat|notebook_?read|view_image)$/i;
const LISTS = /^(?:ls|list|list_?directory|list_dir)$/i;
const SEARCHES =
  /^(?:grep|glob|search|find|file_?search|grep_?search|search_file_content|codebase_search|rg)$/i;

/** Shells; a command that only shows files is a read: without pipes, quotes of commands, lists. */
const SHELLS = /^(?:bash|shell|exec_command|run_shell_command|local_shell_call|shell_command)$/i;
const SHELL_READS = /^(?:cat|head|tail|nl|wc|sed -n '?\d+(?:,\d+)?p'?) [^|;&<>`$(){}]*$/;
const SHELL_SEARCHES = /^(?:rg|grep) (?!.*--pre)[^|;&<>`$(){}]*$/;
const SHELL_LISTS = /^(?:ls|tree)(?: [^|;&<>`$(){}]*)?$/;

type Looking = "read" | "search" | "list";

/** The kind of a call that only looks at files; undefined for every other call. */
function lookingOf({ tool, argument }: TimelineCall): Looking | undefined {
  const isShell = SHELLS.test(tool);
  const command = isShell ? argument.replace(/^(?:\/bin\/)?(?:ba|z)?sh -l?c /, "") : "";
  if (READS.test(tool) || (isShell && SHELL_READS.test(command))) return "read";
  if (SEARCHES.test(tool) || (isShell && SHELL_SEARCHES.test(command))) return "search";
  return LISTS.test(tool) || (isShell && SHELL_LISTS.test(command)) ? "list" : undefined;
}

/** Two or more reads and searches in a row become one; a call that failed keeps its own row. */
function joinReads(rows: readonly TimelineRow[]): TimelineRow[] {
  const joined: TimelineRow[] = [];
  let run: TimelineCall[] = [];
  const end = () => {
    const [first] = run;
    if (first && run.length === 1) joined.push({ kind: "call", key: first.key, call: first });
    if (first && run.length > 1) {
      joined.push({
        kind: "reads",
        key: first.key,
        title: lookingTitle(run),
        calls: run,
        duration_ms: durationOf(first.at, run.at(-1)?.result?.at),
      });
    }
    run = [];
  };
  for (const row of rows) {
    const isLooking = row.kind === "call" && row.call.state === "ok" && lookingOf(row.call);
    if (isLooking) run.push(row.call);
    else {
      end();
      joined.push(row);
    }
  }
  end();
  return joined;
}

/** Such as `read 5 files, searched 2 times, listed 1 folder`. */
function lookingTitle(calls: readonly TimelineCall[]): string {
  const of = (kind: Looking) => calls.filter((call) => lookingOf(call) === kind);
  const files = new Set(of("read").map(({ argument, key }) => argument || key)).size;
  const searched = of("search").length, listed = of("list").length;
  return [
    files > 0 ? `read ${files} ${files === 1 ? "file" : "files"}` : "",
    searched > 0 ? `searched ${searched} ${searched === 1 ? "time" : "times"}` : "",
    listed > 0 ? `listed ${listed} ${listed === 1 ? "folder" : "folders"}` : "",
  ].filter(Boolean).join(", ");
}
