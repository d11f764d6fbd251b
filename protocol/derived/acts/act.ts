/**
 * Turns a permission request into the act that a person allows: its title, its command, the changes
 * of files. It knows the tools of Claude Code, Codex, Gemini CLI, opencode and Copilot CLI by their
 * names and arguments. No I/O.
 */

import { showHiddenOnLine } from "kit/core/hidden.ts";
import { isAbsolute, resolve } from "kit/core/path.ts";
import { Args, isInput } from "protocol/derived/acts/args.ts";
import {
  compared,
  type Edit,
  edited,
  type FileBefore,
  placed,
} from "protocol/derived/acts/files.ts";
import { fileDiff } from "protocol/derived/compare.ts";
import type { FileDiff } from "protocol/derived/diff.ts";
import { type PatchFile, readPatch } from "protocol/derived/acts/patch.ts";
import type { Act } from "protocol/messages/act.ts";

/** A tool that an agent wants to use. */
export interface ActRequest {
  readonly tool: string;
  /** The kind that an agent of the Agent Client Protocol gives a tool, such as `execute`. */
  readonly kind?: string | undefined;
  readonly input: unknown;
  /** The folder in which the agent works. */
  readonly folder: string | null;
}

export type ReadBefore = (path: string) => FileBefore;

/** Maximum characters of a title, and of a name or a command within it. */
const TITLE_CHARS_MAX = 120;
const NAME_CHARS_MAX = 80;
/** Maximum characters of all texts of an act. A longer text is cut and says how much is missing. */
const TEXT_CHARS_MAX = 131_072;
/** Maximum files of one act that are compared. */
const FILES_MAX = 50;

/** The fields of an act that a kind of tool sets. */
type Draft = Pick<Act, "kind" | "title"> & Partial<Omit<Act, "details">>;

interface Surroundings {
  readonly tool: string;
  readonly folder: string | null;
  readonly before: ReadBefore;
}

/** Undefined if the arguments are not those of the tool. */
type Rule = (args: Args, around: Surroundings) => Draft | undefined;

const PATH = ["file_path", "filePath", "path", "absolute_path"] as const;

const CONTENT = ["content", "file_text", "contents"] as const;

// deno-fmt-ignore
const RULES: Readonly<Record<string, Rule>> = {
  bash: run, shell: run, powershell: run, exec_command: run, run_shell_command: run,
  local_shell: run, run_command: run,
  write: write, write_file: write, create: write, create_file: write,
  edit: edit, replace: edit, str_replace: edit, multiedit: edit,
  str_replace_editor: strReplaceEditor,
  apply_patch: patch, patch: patch,
  delete: remove, delete_file: remove,
  webfetch: fetchAddress, web_fetch: fetchAddress, fetch: fetchAddress,
  read: read, read_file: read, view: read,
};

/** By the kinds of the Agent Client Protocol, whose tools have titles and no names. */
// deno-fmt-ignore
const RULES_BY_KIND: Readonly<Record<string, Rule>> = {
  execute: run, edit: editOrWrite, delete: remove, fetch: fetchAddress, read: read,
};

/** The act of a request. `before` is called for the files that it changes. */
export function actOf({ tool, kind, input, folder }: ActRequest, before: ReadBefore): Act {
  const around = { tool, folder, before: limited(before) };
  const args = isInput(input) ? new Args(input) : undefined;
  const draft = args ? ruleOf(tool, kind)?.(args, around) : givenDiffs(input, around);
  if (!draft) return toAct({ kind: "other", title: `Use ${short(tool)}` }, []);
  return toAct(draft, args?.details() ?? []);
}

function ruleOf(tool: string, kind = ""): Rule | undefined {
  const name = tool.toLowerCase();
  if (Object.hasOwn(RULES, name)) return RULES[name];
  if (mcpName(tool) !== undefined) return useMcp;
  return Object.hasOwn(RULES_BY_KIND, kind) ? RULES_BY_KIND[kind] : undefined;
}

function toAct({ title, ...draft }: Draft, details: Act["details"]): Act {
  const act: Act = {
    command: null,
    folder: null,
    path: draft.files?.[0]?.path ?? null,
    address: null,
    files: [],
    is_cut: false,
    covers_text: false,
    takes_reason: true,
    ...draft,
    title: cutMiddle(title, TITLE_CHARS_MAX),
    details,
  };
  return bounded(act);
}

function run(args: Args, { folder }: Surroundings): Draft | undefined {
  const command = args.text("command", "cmd", "script");
  if (command === undefined) return undefined;
  const where = args.text("workdir", "directory", "dir_path", "cwd");
  const at = where === undefined ? folder : folder === null ? where : resolve(folder, where);
  return { kind: "run", title: `Run: ${short(onSingleSpaces(command))}`, command, folder: at };
}

function write(args: Args, around: Surroundings): Draft | undefined {
  const path = args.text(...PATH), text = args.text(...CONTENT);
  if (path === undefined || text === undefined) return undefined;
  const file = compared(around.before(absolute(path, around)), path, text);
  return changed("write", [file], around);
}

function edit(args: Args, around: Surroundings): Draft | undefined {
  const path = args.text(...PATH);
  const list = args.list("edits") ?? [args];
  const edits = list.map(editOf);
  if (path === undefined || !edits.every((edit) => edit !== undefined)) return undefined;
  // An argument of an edit that is not read here would be shown nowhere.
  if (list[0] !== args && list.some((args) => args.details().length > 0)) return undefined;
  const file = edited(around.before(absolute(path, around)), path, edits);
  return changed("edit", [file], around);
}

function editOrWrite(args: Args, around: Surroundings): Draft | undefined {
  return args.text(...CONTENT) === undefined ? edit(args, around) : write(args, around);
}

/** The changes of files, which some agents of the Agent Client Protocol give without an input. */
function givenDiffs(input: unknown, around: Surroundings): Draft | undefined {
  if (!Array.isArray(input) || input.length === 0) return undefined;
  const files = input.map((part) => {
    if (!isInput(part) || part["type"] !== "diff") return undefined;
    const args = new Args(part);
    const path = args.text("path"), fresh = args.text("newText"), type = args.text("type");
    const old = args.text("oldText") ?? "";
    const isAll = type !== undefined && args.details().every(({ value }) => value === "null");
    return path === undefined || fresh === undefined || !isAll
      ? undefined
      : fileDiff(path, old, fresh);
  });
  return files.every((file) => file !== undefined) ? changed("edit", files, around) : undefined;
}

function editOf(args: Args): Edit | undefined {
  const old = args.text("old_string", "oldString", "old_str");
  const fresh = args.text("new_string", "newString", "new_str");
  if (old === undefined || fresh === undefined) return undefined;
  return { old, fresh, all: args.flag("replace_all", "replaceAll") };
}

/** Copilot CLI's and others' tool with several commands. */
function strReplaceEditor(args: Args, around: Surroundings): Draft | undefined {
  const command = args.text("command");
  if (command === "create") return write(args, around);
  if (command === "str_replace") return edit(args, around);
  return command === "view" ? read(args, around) : undefined;
}

function patch(args: Args, around: Surroundings): Draft | undefined {
  const files = readPatch(args.text("command", "input", "patch", "patchText") ?? "");
  if (!files) return undefined;
  const changes = new Set(files.map(({ change }) => change));
  const [only] = changes;
  const kind = changes.size > 1 || only === "update" ? "edit" : only === "add" ? "write" : "delete";
  return changed(kind, files.map((file) => placed(file, fileBefore(file, around))), around);
}

/** A deleted file is not read: all of it goes. */
function fileBefore(
  { change, path, old_path = path }: PatchFile,
  around: Surroundings,
): FileBefore {
  return change === "delete"
    ? { unread: "it is deleted" }
    : around.before(absolute(old_path, around));
}

function remove(args: Args, around: Surroundings): Draft | undefined {
  const path = args.text(...PATH);
  return path === undefined
    ? undefined
    : { kind: "delete", title: `Delete ${shownPath(path, around)}`, path };
}

function fetchAddress(args: Args): Draft | undefined {
  const address = args.text("url");
  return address === undefined
    ? undefined
    : { kind: "fetch", title: `Fetch ${short(address)}`, address };
}

function read(args: Args, around: Surroundings): Draft | undefined {
  const path = args.text(...PATH);
  return path === undefined
    ? undefined
    : { kind: "read", title: `Read ${shownPath(path, around)}`, path };
}

function useMcp(_: Args, { tool }: Surroundings): Draft {
  return { kind: "mcp", title: `Use ${short(mcpName(tool) ?? tool)}` };
}

/** The name `server: tool` of a tool of an MCP server: `mcp__server__tool` or `server/tool`. */
function mcpName(tool: string): string | undefined {
  const [, server, name] = /^mcp__(.+?)__(.+)$/s.exec(tool) ??
    /^([^/\s]+)\/([^/\s]+)$/.exec(tool) ?? [];
  if (server !== undefined && name !== undefined) return `${server}: ${name}`;
  return /^mcp_(.+)$/s.exec(tool)?.[1];
}

const VERBS = { write: "Write", edit: "Edit", delete: "Delete" } as const;

function changed(
  kind: keyof typeof VERBS,
  files: readonly FileDiff[],
  around: Surroundings,
): Draft {
  const sum = (count: (file: FileDiff) => number) =>
    files.reduce((all, file) => all + count(file), 0);
  const added = sum((file) => file.added), removed = sum((file) => file.removed);
  const [first] = files;
  const subject = files.length === 1 && first ? namesOf(first, around) : `${files.length} files`;
  return {
    kind,
    title: `${VERBS[kind]} ${subject}${countsText(added, removed)}`,
    files: [...files],
  };
}

/** The path of a file for its title; both paths if it moves. */
function namesOf({ path, old_path }: FileDiff, around: Surroundings): string {
  const after = shownPath(path, around);
  return old_path === undefined ? after : `${shownPath(old_path, around)} → ${after}`;
}

function countsText(added: number, removed: number): string {
  if (removed === 0) return added === 0 ? "" : `, +${added} ${added === 1 ? "line" : "lines"}`;
  return added === 0
    ? `, −${removed} ${removed === 1 ? "line" : "lines"}`
    : `, +${added} −${removed}`;
}

function absolute(path: string, { folder }: Surroundings): string {
  return isAbsolute(path) || folder === null ? path : resolve(folder, path);
}

/** The path within the folder, or the whole path, on one line. */
function shownPath(path: string, { folder }: Surroundings): string {
  const root = folder === null || folder.endsWith("/") ? folder : `${folder}/`;
  const isInside = root !== null && path.startsWith(root) && path.length > root.length;
  return short(isInside ? path.slice(root.length) : path);
}

function short(text: string): string {
  // The middle is cut first: replacing the hidden characters of a long text takes long.
  return cutMiddle(showHiddenOnLine(cutMiddle(text, 4 * NAME_CHARS_MAX)), NAME_CHARS_MAX);
}

/** A command for a title: the command itself is shown exactly, below it. */
function onSingleSpaces(command: string): string {
  return command.trim().replaceAll(/\s+/g, " ");
}

/** Cuts the middle of a long text, as either end may matter, and says how much is missing. */
export function cutMiddle(text: string, chars_max: number): string {
  const chars = Array.from(text);
  if (chars.length <= chars_max) return text;
  const mark = 16;
  const kept = Math.max(0, chars_max - mark);
  const [head, tail] = [Math.ceil(kept * 2 / 3), Math.floor(kept / 3)];
  const missing = chars.length - head - tail;
  return `${chars.slice(0, head).join("")} …(${missing} more)… ${
    tail === 0 ? "" : chars.slice(-tail).join("")
  }`;
}

/** Calls `before` for the first files only. */
function limited(before: ReadBefore): ReadBefore {
  let count = 0;
  return (path) => count++ < FILES_MAX ? before(path) : { unread: "there are too many files" };
}

/** The act with texts of a bounded length. Each says how much of it is missing. */
function bounded(act: Act): Act {
  let rest = TEXT_CHARS_MAX, is_cut = false;
  const cut = (text: string) => {
    const kept = cutMiddle(text, Math.max(0, rest));
    rest -= kept.length;
    is_cut ||= kept !== text;
    return kept;
  };
  const command = act.command === null ? null : cut(act.command);
  const address = act.address === null ? null : cut(act.address);
  const details = act.details.map(({ name, value }) => ({ name: cut(name), value: cut(value) }));
  const files = act.files.map((file) => {
    const lines = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
    const hunks = file.hunks.map((hunk) => ({ ...hunk, lines: keepLines(hunk.lines) }))
      .filter(({ lines }) => lines.length > 0);
    const missing = lines - hunks.reduce((sum, { lines }) => sum + lines.length, 0);
    if (missing === 0) return file;
    is_cut = true;
    return { ...file, hunks, note: `${missing} more lines are cut` };
  });
  function keepLines(lines: readonly string[]): string[] {
    return lines.filter((line) => {
      rest -= line.length + 1;
      return rest >= 0;
    });
  }
  return { ...act, command, address, details, files, is_cut };
}
