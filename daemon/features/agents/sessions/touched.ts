/** The files that a tool call of an agent reads and writes, by the tool's name and its input. */

import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { SessionEntry } from "./session_files.ts";

export interface NamedFile {
  /** As the agent wrote it: absolute, or from the agent's folder. */
  readonly path: string;
  readonly wrote: boolean;
}

/** The names of tools that change files and that read them, in the words of all agents. */
const WRITING_TOOL = /write|edit|patch|replace|create|update/i;
const READING_TOOL = /^(?:read|view|open|read_file|read_many_files|notebookread)$/i;
/** The fields of a tool's input that name a file. The input may be cut off. */
const PATH_FIELD =
  /"(?:file_path|filePath|notebook_path|absolute_path|path)"\s*:\s*("(?:[^"\\]|\\.)*")/g;
/** The files of a patch, as Codex writes it. */
const PATCHED_FILE = /\*\*\* (?:Add|Update|Delete) File: ([^\n\\"]+)/g;
const SHELL_TOOL = /^(?:shell|exec_command|bash|run_shell_command|local_shell|powershell)$/i;
/** The input of a tool that runs a command. */
const ShellInput = z.object({
  cmd: z.string().optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
});
/** A command that prints files, such as `sed -n '1,80p' src/a.ts`. */
const PRINTING = /(?:^|[;&|]|&&|["'])\s*(?:cat|head|tail|nl|less|sed -n \S+)((?: +[\w./@-]+)+)/g;

export function isShell(tool: string | null): boolean {
  return SHELL_TOOL.test(tool ?? "");
}

/** The files that a tool call names; of a command, only those that it prints. */
export function filesIn({ kind, tool, text }: Pick<SessionEntry, "kind" | "tool" | "text">) {
  if (kind !== "tool_call") return [];
  const patched = Array.from(text.matchAll(PATCHED_FILE), ([, path = ""]) => path.trim());
  const files = patched.map((path): NamedFile => ({ path, wrote: true }));
  const isView = /"command"\s*:\s*"view"/.test(text);
  if (isShell(tool)) return [...files, ...printedIn(text)];
  const name = tool ?? "";
  const wrote = WRITING_TOOL.test(name) && !isView;
  if (!wrote && !isView && !READING_TOOL.test(name)) return files;
  const named = Array.from(text.matchAll(PATH_FIELD), ([, quoted = ""]) => textOf(quoted));
  return [...files, ...named.filter((path) => path !== "").map((path) => ({ path, wrote }))];
}

function printedIn(text: string): NamedFile[] {
  const input = ShellInput.safeParse(tryJson(text)).data;
  const given = input?.command ?? input?.cmd ?? [];
  const command = typeof given === "string" ? given : given.join(" ; ");
  return Array.from(command.matchAll(PRINTING), ([, words = ""]) => words.trim().split(/ +/)).flat()
    .filter((word) => !word.startsWith("-") && /[./]/.test(word))
    .map((path) => ({ path, wrote: false }));
}

function textOf(quoted: string): string {
  return String(tryJson(quoted) ?? "");
}
