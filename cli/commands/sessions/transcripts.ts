/** `mesh transcript` and `mesh usage`: what an agent recorded of its session. */

import type { WireResponse } from "kit/http/client.ts";
import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { getUsage, listUsage, readTranscript } from "../../client/endpoints.ts";
import { EXIT } from "../../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  interruptible,
  JSON_FLAG,
} from "../../command/command.ts";
import { type Style, styled, type Terminal } from "../../output/terminal.ts";
import { formatDayTime } from "../../output/time.ts";

type Transcript = WireResponse<typeof readTranscript>;
type Entry = Transcript["entries"][number];
type PeerUsage = WireResponse<typeof listUsage>["usage"][number];

const POLL_INTERVAL_MS = 1_000;
/** The largest page of the route. */
const PAGE_MAX = 200;

const LABELS: Readonly<Record<Entry["kind"], { readonly label: string; readonly style: Style }>> = {
  prompt: { label: "prompt", style: "cyan" },
  text: { label: "said", style: "bold" },
  tool_call: { label: "called", style: "yellow" },
  tool_result: { label: "result", style: "dim" },
};

const TRANSCRIPT: Command = {
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
    "--follow": "keep showing new entries, until Ctrl-C",
    ...JSON_FLAG,
  },
  example: "mesh transcript api --last 5",
  run: showTranscript,
};

export const SESSION_COMMANDS: readonly Command[] = [
  TRANSCRIPT,
  answerCommand({
    usage: "usage [peer]",
    summary: "Show how many tokens sessions used, and how full their contexts are",
    details: 'Where the agent records it in its own session file; "not recorded" where it does ' +
      "not. Input includes what came from a cache.",
    flags: { ...CIRCLE_FLAG },
    example: "mesh usage",
    call: async (context, args): Promise<{ usage: readonly PeerUsage[] }> => {
      const id = args.get("peer");
      if (id === undefined) return await context.call(listUsage, {});
      const query = await context.lookup(args);
      const { transcript_refusal: _, ...usage } = await context.call(getUsage, {
        params: { id },
        query,
      });
      return { usage: [usage] };
    },
    show: ({ usage }, { terminal }) => showUsage(terminal, usage),
  }),
];

async function showTranscript(context: CommandContext, args: Args): Promise<number> {
  const { clock, terminal } = context;
  const isJson = args.flag("json");
  const follow = args.flag("follow");
  const page = await read(context, args, {
    last: args.numberText("last"),
    grep: args.get("grep"),
    before: args.numberText("before"),
  });
  if (!follow && isJson) {
    terminal.printJson(page);
    return EXIT.done;
  }
  const show = (entry: Entry) => isJson ? terminal.printJson(entry, 0) : showEntry(context, entry);
  if (!isJson) showPosition(terminal, page);
  page.entries.forEach(show);
  if (!follow) return EXIT.done;
  const wanted = args.get("grep")?.toLowerCase();
  const after = page.entries.at(-1)?.position;
  const readAfter = (position: number | undefined) =>
    read(context, args, { last: String(PAGE_MAX), after: position?.toString() });
  await interruptible(async (signal) => {
    for await (const entry of followEntries(readAfter, after, { clock, signal })) {
      if (wanted === undefined || entry.text.toLowerCase().includes(wanted)) show(entry);
    }
  });
  return EXIT.interrupted;
}

/** Yields the entries after a position as they are recorded, until the signal aborts. */
export async function* followEntries(
  readAfter: (position: number | undefined) => Promise<Pick<Transcript, "entries">>,
  from: number | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<Entry> {
  let after = from;
  while (!signal.aborted) {
    await pause(clock, POLL_INTERVAL_MS, signal);
    if (signal.aborted) return;
    const { entries } = await readAfter(after);
    yield* entries;
    after = entries.at(-1)?.position ?? after;
  }
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

function showUsage(to: Terminal, usage: readonly PeerUsage[]): void {
  to.printTable(usage, {
    PEER: ({ name }) => styled("cyan", name),
    INPUT: ({ usage }) => count(usage?.input_tokens),
    CACHED: ({ usage }) => count(usage?.cached_tokens),
    OUTPUT: ({ usage }) => count(usage?.output_tokens),
    CONTEXT: ({ usage }) => contextOf(usage),
    MODEL: ({ usage, reason }) => usage?.model ?? styled("dim", reason ?? ""),
  }, { essential: ["PEER"], empty: "No agents are here whose tokens could be counted" });
}

function contextOf(usage: PeerUsage["usage"]): string {
  const { context_tokens = null, context_limit = null } = usage ?? {};
  if (context_tokens === null || context_limit === null) return count(context_tokens);
  const percent = Math.round(100 * context_tokens / Math.max(1, context_limit));
  return `${count(context_tokens)} of ${count(context_limit)} (${percent} %)`;
}

function count(tokens: number | null | undefined): string {
  return typeof tokens === "number" ? tokens.toLocaleString("en-US") : "not recorded";
}
