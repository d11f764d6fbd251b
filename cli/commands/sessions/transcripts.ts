/** `mesh transcript` and `mesh usage`: the records of an agent's session. */

import type { WireResponse } from "kit/http/client.ts";
import { undefinedOnRefusal } from "../../client/daemon_client.ts";
import { readTranscript } from "protocol/generated/endpoints.ts";
import { EXIT } from "../../client/failures.ts";
import {
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../../command/command.ts";
import { untilQuit } from "../../command/quit_key.ts";
import { type Style, styled, type Terminal } from "../../output/terminal.ts";
import { formatDayTime } from "../../output/time.ts";
import { follow, type FollowReads } from "./following.ts";

type Transcript = WireResponse<typeof readTranscript>;
type Entry = Transcript["entries"][number];

const LABELS: Readonly<Record<Entry["kind"], { readonly label: string; readonly style: Style }>> = {
  prompt: { label: "prompt", style: "cyan" },
  text: { label: "said", style: "bold" },
  tool_call: { label: "called", style: "yellow" },
  tool_result: { label: "result", style: "dim" },
};

export const SESSION_COMMANDS: readonly Command[] = [
  {
    usage: "transcript <peer>",
    summary: "Show the last prompts, texts and tool calls of a peer's session",
    details:
      "Read from the agent's own session file; thoughts are left out. Secrets are masked, as " +
      "far as they look like secrets. The setting transcripts says who may: human (the " +
      "default: only a person), peers (agents of its circle as well), or off.",
    flags: {
      ...CIRCLE_FLAG,
      "--last <count>": "how many entries (default 20, at most 200)",
      "--grep <text>": "only entries that contain this text, in any case",
      "--before <position>": "only entries before this position, which the output names",
      "--full": "shorten long texts less",
      "--follow": "keep showing new entries, until you press q or Ctrl-C",
      ...JSON_FLAG,
    },
    example: "mesh transcript api --last 5",
    run: showTranscript,
  },
];

async function showTranscript(context: CommandContext, args: Args): Promise<number> {
  const isJson = args.flag("json");
  const isFollowing = args.flag("follow");
  const grep = args.get("grep");
  // Following starts after the last entry, even if that entry does not match the search.
  const head = isFollowing ? await read(context, args, { last: "1" }) : undefined;
  const end = head?.entries.at(-1)?.position;
  const page = await read(context, args, {
    last: args.numberText("last"),
    grep,
    before: args.numberText("before") ?? (end === undefined ? undefined : String(end + 1)),
  });
  if (isJson && !head) {
    context.terminal.printJson(page);
    return EXIT.done;
  }
  if (!isJson) showPosition(context.terminal, page);
  showEntries(context, page.entries, isJson);
  if (!head) return EXIT.done;
  // A new session has no file before its first prompt.
  const readIfAny = (query: Readonly<Record<string, string | undefined>>) =>
    undefinedOnRefusal("no_transcript", () => read(context, args, query));
  const reads: FollowReads = {
    last: (query) => readIfAny({ last: "1", ...texts(query) }),
    matching: (query) => readIfAny({ grep, ...texts(query) }),
  };
  await untilQuit(context, async (signal) => {
    const from = { session_id: head.session_id, after: end };
    for await (const came of follow(reads, from, { clock: context.clock, signal })) {
      if (came.new_session !== undefined) {
        note(context, `${head.name} began the session ${came.new_session}`, isJson);
      }
      if (came.left_out_before !== null) {
        const command = `mesh transcript ${head.name} --before ${came.left_out_before}`;
        note(context, `entries were left out here: ${command}`, isJson);
      }
      showEntries(context, came.entries, isJson);
    }
  });
  return EXIT.interrupted;
}

function showEntries(context: CommandContext, entries: readonly Entry[], isJson: boolean): void {
  for (const entry of entries) {
    if (isJson) context.terminal.printJson(entry, 0);
    else showEntry(context, entry);
  }
}

/** Printed to standard error: with `--json`, standard output has one entry on each line. */
function note({ terminal }: CommandContext, text: string, isJson: boolean): void {
  if (isJson) terminal.printError(text);
  else terminal.print(styled("dim", text));
}

function texts(query: Readonly<Record<string, number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]]
    ),
  );
}

async function read(
  context: CommandContext,
  args: Args,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Transcript> {
  const full = args.flag("full") ? { full: "true" as const } : {};
  return await context.call(readTranscript, {
    params: { id: args.text("peer") },
    query: { ...await context.lookup(args), ...query, ...full },
  });
}

function showPosition(to: Terminal, { name, entries, before, cut }: Transcript): void {
  if (cut) {
    to.print(styled("dim", "Earlier entries are too far from the end of the file to be read."));
  }
  if (before !== null) {
    to.print(styled("dim", `earlier: mesh transcript ${name} --before ${before}`));
  }
  if (entries.length > 0) return;
  to.print(before === null && !cut ? "No entries." : "No entries in this part.");
}

function showEntry({ clock, terminal }: CommandContext, entry: Entry): void {
  const { label, style } = LABELS[entry.kind];
  const time = entry.at === null ? "(no time)" : formatDayTime(entry.at, clock);
  const tool = entry.tool === null ? "" : ` ${entry.tool}`;
  terminal.print(styled("dim", time), "  ", styled(style, `${label}${tool}`));
  terminal.printText(entry.text.trimEnd(), "  ");
  const hidden = entry.chars - entry.text.length;
  if (hidden > 0) terminal.print("  ", styled("dim", `… ${hidden} more characters`));
}
