/** The groups of `mesh --help`, in order, and the descriptions of groups of commands. */

interface HelpGroup {
  readonly title: string;
  readonly commands: readonly string[];
}

/** A command that is in no group is listed in the last one. */
// deno-fmt-ignore
export const HELP_GROUPS: readonly HelpGroup[] = [
  { title: "Most used", commands: [
    "up", "status", "setup", "peers", "ask", "notify", "inbox", "spawn", "open", "doctor",
  ] },
  { title: "Messages", commands: [
    "asks", "show", "ack", "decline", "answer", "ask-many", "broadcast", "upload", "search", "trace",
    "why", "wait",
  ] },
  { title: "Agents", commands: ["peer", "tag", "screen", "type", "attach", "run", "orphans", "link", "share"] },
  { title: "Machines", commands: ["machines"] },
  { title: "Work for later", commands: ["jobs", "schedule", "when"] },
  { title: "The daemon", commands: [
    "down", "restart", "logs", "watch", "top", "config", "token", "backup", "docs", "dashboard",
    "selftest", "demo",
  ] },
  { title: "Programs", commands: ["daemon", "relay", "mcp", "hook", "surface", "completions"] },
];

interface FirstWord {
  readonly summary: string;
  readonly example: string;
}

/** First words of commands that are not commands themselves. */
export const FIRST_WORDS: Readonly<Record<string, FirstWord>> = {
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
