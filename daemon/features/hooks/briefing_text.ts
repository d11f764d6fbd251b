/** The text that tells an agent again who it is, and what it owes: 300 tokens at most. */

import { firstLineOf } from "kit/core/text.ts";
import { estimateTokens } from "./tokens.ts";
import { quotedLine, quotedName } from "protocol/messages/frame_markers.ts";

/** Maximum tokens of a briefing, by `estimateTokens`. */
const TOKENS_MAX = 300;
/** The lengths to which all first lines are cut, until all entries fit. */
const TEXT_CHARS = [80, 48, 32] as const;
/** The lengths of a first line if not all entries fit. */
const SHORT_CHARS = [32, 12] as const;
/** Maximum characters shown of a name, besides the agent's own. */
const NAME_CHARS = 24;

/** An ask, job, answer, lease or file. */
export interface BriefingEntry {
  /** Null for a file. */
  readonly id: string | null;
  /** The name of the peer on the other side; null if there is none. */
  readonly peer: string | null;
  /** Facts of the daemon, such as its age. */
  readonly facts: readonly string[];
  /** A text of another author, of which the first line is quoted. */
  readonly text: string;
}

/** Entries of one kind, and the number of all. */
export interface BriefingSection {
  readonly title: string;
  readonly count: number;
  readonly entries: readonly BriefingEntry[];
}

export interface BriefingContent {
  readonly name: string;
  readonly peer_id: string;
  readonly circle: string;
  readonly cause: string;
  readonly sections: readonly BriefingSection[];
}

const CAUSES: ReadonlyMap<string, string> = new Map([
  ["compact", "Your context was compacted."],
  ["clear", "Your context was cleared."],
  ["resume", "Your session was resumed."],
  ["fork", "It is a copy of a session, whose debts are not yours."],
]);

/**
 * The form with the longest texts in which all entries fit into `TOKENS_MAX`; otherwise one that
 * leaves out entries from the end.
 */
export function briefingText(content: BriefingContent): string {
  for (const chars_max of TEXT_CHARS) {
    const text = render(content, (entry) => [entryLine(entry, chars_max)]);
    if (estimateTokens(text) <= TOKENS_MAX) return text;
  }
  const { name, circle } = content;
  const short = { ...content, name: shortName(name), circle: shortName(circle) };
  let left = TOKENS_MAX - estimateTokens(render(short, () => []));
  return render(short, (entry) => {
    const lines = SHORT_CHARS.map((chars_max) => entryLine(entry, chars_max));
    const line = lines.find((line) => estimateTokens(`\n${line}`) <= left);
    if (line === undefined) return [];
    left -= estimateTokens(`\n${line}`);
    return [line];
  });
}

function shortName(name: string): string {
  return [...name].slice(0, NAME_CHARS).join("");
}

/** The briefing with the lines of its entries; `toLines` is called in their order. */
function render(
  { name, peer_id, circle, cause, sections }: BriefingContent,
  toLines: (entry: BriefingEntry) => string[],
): string {
  const head =
    `[mesh] You are @${quotedName(name)} (${peer_id}) in circle ${quotedName(circle)}. ` +
    (CAUSES.get(cause) ?? "Your session is new.");
  const shown = sections.filter(({ count }) => count > 0);
  if (shown.length === 0) return head;
  return [
    head,
    '<peer-message type="briefing">',
    ...shown.flatMap(({ title, count, entries }) => [
      `${title} (${count}):`,
      ...entries.flatMap(toLines),
    ]),
    "</peer-message>",
    "[mesh] Tools: ack, decline. All of a text: mesh show ID",
  ].join("\n");
}

function entryLine({ id, peer, facts, text }: BriefingEntry, chars_max: number): string {
  const other = peer === null ? [] : [`@${quotedName(shortName(peer))}`];
  const line = quotedLine(firstLineOf(text, chars_max)); // Escaped, so it stays one line of data.
  return [
    [...(id === null ? [] : [id]), ...other, ...facts].join(" "),
    ...(line === "" ? [] : [line]),
  ].join(": ");
}
