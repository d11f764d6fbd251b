/**
 * The help of `mesh`, of its groups and commands. `deno task gen` writes the texts down, so that no
 * command builds them.
 */

import type { CommandSpec } from "./command.ts";
import { findCommand, HELP_FLAG, PROGRAM_FLAGS } from "./line.ts";

export const SUMMARY = "Agent Mesh lets coding agents, and you, ask each other questions.";

const FOOTER = `
On a terminal, mesh without a command is a live view of peers, messages and what waits for you.
Each command has more: mesh help COMMAND. Errors of a command with --json are JSON, too.
Exit codes: 0 done; 1 refused, failed, still open after --timeout, or answered but not verified;
2 wrong usage or configuration; 3 no daemon answers; 130 Ctrl-C.`;

const COLUMNS = 90;
/** Text in fewer columns than this is not wrapped. */
const WRAPPED_COLUMNS_MIN = 40;

interface HelpGroup {
  readonly title: string;
  readonly commands: readonly string[];
}

/** A command that is in no group is listed in the last one. */
// deno-fmt-ignore
export const HELP_GROUPS: readonly HelpGroup[] = [
  { title: "Most used", commands: [
    "run", "up", "status", "setup", "peers", "ask", "notify", "inbox", "open", "doctor",
  ] },
  { title: "Messages", commands: [
    "asks", "show", "ack", "decline", "answer", "ask-many", "broadcast", "upload", "search", "recall",
    "digest", "trace", "why", "wait",
  ] },
  { title: "Agents", commands: [
    "peer", "spawn", "attach", "screen", "type", "interrupt", "wake", "tag", "transcript", "changes",
    "review", "usage", "limits", "budgets", "policy", "blame", "who", "lease", "leases", "landing",
    "fork", "resume", "handoff", "orphans", "link", "share",
  ] },
  { title: "Machines", commands: ["machines"] },
  { title: "Work for later", commands: ["jobs", "schedule", "when"] },
  { title: "The daemon", commands: [
    "down", "restart", "logs", "watch", "top", "config", "token", "backup", "restore", "update",
    "uninstall", "docs", "dashboard", "devices", "push", "selftest", "demo",
  ] },
  { title: "Programs", commands: ["daemon", "relay", "mcp", "hook", "surface", "completions"] },
];

interface FirstWord {
  readonly summary: string;
  readonly example: string;
}

/** First words of commands that are not commands themselves. */
const FIRST_WORDS: Readonly<Record<string, FirstWord>> = {
  peer: { summary: "Show, rename, restart or remove a peer", example: "mesh peer show api" },
  surface: { summary: "Connect your inbox to a chat", example: "mesh surface telegram" },
};

/** The position of a command in the help: its group, and its place in the group. */
export function helpPlaceOf(name: string): { group: HelpGroup | undefined; rank: number } {
  const at = HELP_GROUPS.findIndex(({ commands }) => commands.includes(name));
  const group = HELP_GROUPS[at] ?? HELP_GROUPS.at(-1);
  const place = group?.commands.indexOf(name) ?? -1;
  return { group, rank: at < 0 ? Infinity : at * 100 + place };
}

/** A line of the help: a command or flag, and its summary. */
type Item = readonly [term: string, summary: string];

/** The help of the command or group that the words name; without words, of the program. */
export function helpOf(table: readonly CommandSpec[], words: readonly string[]): string {
  const { command } = findCommand(table, words);
  const isRoot = words.length === 0;
  const flags: Item[] = Object.entries(isRoot ? PROGRAM_FLAGS : command?.flags ?? {})
    .map(([flag, meaning]) => [flag.replace(/ \.\.\.$/, ""), meaning]);
  flags.push(HELP_FLAG);
  const subcommands = subcommandsOf(table, words);
  const columns = Math.max(...[flags, ...subcommands.values()].flat().map(([term]) => term.length));
  const sections = [["Options:", flags] as const, ...subcommands];
  const { summary = SUMMARY, example } = command ?? FIRST_WORDS[words.join(" ")] ?? {};
  return [
    `Usage: ${usageOf(words, command, subcommands.size > 0)}`,
    "",
    wrap(command?.details === undefined ? summary : `${summary}\n\n${command.details}`, COLUMNS),
    "",
    ...sections.flatMap(([title, items]) => [title, ...items.map(lineOf(columns)), ""]),
    ...isRoot ? [FOOTER.slice(1)] : example === undefined ? [] : ["Example:", `  ${example}`],
    "",
  ].join("\n");
}

function usageOf(words: readonly string[], command: CommandSpec | undefined, isGroup: boolean) {
  const [alias] = command?.aliases ?? [];
  const path = ["mesh", ...words].join(" ") + (alias === undefined ? "" : `|${alias}`);
  const args = command?.usage.slice(words.join(" ").length) ?? "";
  return `${path} [options]${isGroup ? " [command]" : ""}${args}`;
}

/** The commands and groups after the words, by the title under which they are listed. */
function subcommandsOf(
  table: readonly CommandSpec[],
  words: readonly string[],
): Map<string, Item[]> {
  const isRoot = words.length === 0;
  const { next } = findCommand(table, words);
  const names = [...new Set(next.values())].map((name) => {
    const { group, rank } = helpPlaceOf(name);
    const title = isRoot ? `${group?.title ?? "Commands"}:` : "Commands:";
    return { title, rank, place: findCommand(table, [...words, name]) };
  });
  if (isRoot) names.sort((a, b) => a.rank === b.rank ? 0 : a.rank - b.rank);
  const listed = new Map<string, Item[]>();
  for (const { title, place } of names) {
    const { command, words } = place;
    if (command?.hidden) continue;
    const name = words.at(-1) ?? "";
    const args = command?.usage.slice(words.join(" ").length) ?? "";
    const term = [name, ...command?.aliases ?? []].join("|") + args;
    const { summary = "" } = command ?? FIRST_WORDS[name] ?? {};
    listed.set(title, [...listed.get(title) ?? [], [term, summary]]);
  }
  return listed;
}

/** Writes an item with its summary behind a column of terms. */
function lineOf(columns: number): (item: Item) => string {
  return ([term, summary]) => {
    const lines = wrap(summary, COLUMNS - columns - 4).split("\n");
    return `  ${term.padEnd(columns)}  ${lines.join(`\n${" ".repeat(columns + 4)}`)}`;
  };
}

/** Breaks lines at spaces, which it keeps inside of a line. */
function wrap(text: string, columns: number): string {
  if (columns < WRAPPED_COLUMNS_MIN) return text;
  return text.split("\n").flatMap((line) => {
    const lines = [""];
    for (const word of line.trimEnd().match(/\s+\S*|\S+/g) ?? []) {
      const last = lines.at(-1) ?? "";
      if (last === "" || last.length + word.length <= columns) lines.splice(-1, 1, last + word);
      else lines.push(word.trimStart());
    }
    return lines;
  }).join("\n");
}
