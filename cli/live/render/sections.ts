/** Draws one section: its title, and as many of its rows as fit. */

import { styled, type StyledText } from "../../output/terminal.ts";
import { fill, inStyle, type Line, withRule, wrap } from "../../screen/lines.ts";
import { indexOf, type Section } from "../sections.ts";
import type { Model, View } from "../view.ts";
import { firstVisible } from "./layout.ts";
import {
  attentionRow,
  messageRow,
  nameColumns,
  peerRow,
  type RowContext,
  waitsFor,
  widthOf,
} from "./rows.ts";

/** A row of a list; without an index it is a heading. */
interface ListRow {
  readonly index?: number;
  readonly line: () => Line;
}

const MARKER_COLUMNS = 2;
const TITLES = { attention: "Attention", peers: "Peers", feed: "Feed" } as const;

const NO_HUMAN =
  "No agent can ask you yet. Say who you are: mesh config set human.name YOU, then mesh restart";
/** Number of rows of `NO_HUMAN` in a narrow terminal. */
const NO_HUMAN_ROWS = 2;

/** The number of rows that a section could fill, its title included. */
export function wantedRows(section: Section, { lists, records }: Model): number {
  if (section === "attention" && records.inbox === undefined) return 1 + NO_HUMAN_ROWS;
  if (section !== "peers") return 1 + Math.max(1, lists[section].length);
  return 1 + Math.max(1, lists.peers.length + lists.groups.length);
}

export function sectionLines(
  section: Section,
  view: View,
  model: Model,
  { height, ...context }: RowContext & { readonly height: number },
): Line[] {
  if (height <= 0) return [];
  const hasFocus = view.section === section && view.detail === undefined;
  const { columns } = context;
  const rows = listRows(section, model, { ...context, columns: columns - MARKER_COLUMNS });
  if (rows.length === 0) {
    const title = titleOf(section, model, { hasFocus, columns, above: 0, below: 0 });
    const empty = wrap([styled("dim", emptyText(section, model))], columns - MARKER_COLUMNS);
    return [title, ...empty.map((line) => ["  ", ...line])].slice(0, height);
  }
  const selected = indexOf(model.lists[section], view.selections[section]);
  const at = rows.findIndex(({ index }) => index === selected);
  const start = firstVisible(rows.length, at, height - 1);
  const lines = rows.slice(start, start + height - 1).map(({ index, line }) =>
    drawRow(line(), { columns, hasFocus, isSelected: index === selected, index })
  );
  const countOf = (hidden: readonly ListRow[]) =>
    hidden.filter(({ index }) => index !== undefined).length;
  const above = countOf(rows.slice(0, start));
  const below = countOf(rows.slice(start + lines.length));
  return [titleOf(section, model, { hasFocus, columns, above, below }), ...lines];
}

function drawRow(
  line: Line,
  { columns, hasFocus, isSelected, index }: {
    readonly columns: number;
    readonly hasFocus: boolean;
    readonly isSelected: boolean;
    readonly index: number | undefined;
  },
): Line {
  if (index === undefined) return line;
  if (!isSelected) return ["  ", ...line];
  if (!hasFocus) return [styled("dim", "▸ "), ...line];
  return inStyle(fill(["▸ ", ...line], columns), "inverse");
}

interface HiddenCounts {
  readonly above: number;
  readonly below: number;
}

function titleOf(
  section: Section,
  { records, lists }: Model,
  { hasFocus, columns, above, below }: HiddenCounts & { hasFocus: boolean; columns: number },
): Line {
  const rows = section === "peers" ? records.peers : lists[section];
  const count = records.loaded && section !== "feed" ? ` ${rows.length}` : "";
  const found = section === "feed" ? records.found : undefined;
  const text = found
    ? `Search: ${found.query}, ${found.rows.length}${found.hasMore ? " or more" : ""} found`
    : TITLES[section] + count + (records.lost_at === undefined ? "" : ", stale");
  const [style, sign] = hasFocus ? ["cyan", "━"] as const : ["dim", "─"] as const;
  const hidden = [above > 0 ? `↑${above}` : "", below > 0 ? `↓${below}` : ""].filter(Boolean);
  const more = hidden.length > 0 ? ` ${hidden.join(" ")} ` : "";
  const title: StyledText[] = [
    styled(style, sign.repeat(2) + " "),
    styled("bold", text),
    found ? styled("dim", "  Esc ends it") : "",
  ];
  return [...withRule(title, columns - more.length, { style, sign }), styled("dim", more)];
}

function emptyText(section: Section, { records }: Model): string {
  if (!records.loaded) return "Loading…";
  if (section === "peers") return "No peers yet. Start an agent, or try: mesh demo";
  if (section === "feed") return records.found ? "No messages match." : "No messages yet.";
  return records.inbox === undefined ? NO_HUMAN : "Nothing waits for you.";
}

function listRows(section: Section, model: Model, context: RowContext): ListRow[] {
  const { lists, records } = model;
  switch (section) {
    case "attention": {
      const names = lists.attention.map((entry) =>
        entry.kind === "dialog" ? entry.peer.name : entry.item.from
      );
      const width = nameColumns(names, context);
      return lists.attention.map((entry, index) => ({
        index,
        line: () => attentionRow(entry, width, context),
      }));
    }
    case "peers": {
      const width = nameColumns(lists.peers.map(({ display_name }) => display_name), context);
      const waits = lists.peers.map((peer) => waitsFor(peer, records, context));
      const widths = { name: width, waits: widthOf(waits) };
      let index = -1;
      return lists.groups.flatMap(({ kind, title, peers }): ListRow[] => {
        const style = kind === "needs you" ? "yellow" : "dim";
        const options = { widths, hasCircle: kind !== "circle" };
        const rows = peers.map((peer): ListRow => {
          const at = ++index;
          return { index: at, line: () => peerRow(peer, waits[at] ?? "", options, context) };
        });
        return [{ line: () => [styled(style, title)] }, ...rows];
      });
    }
    case "feed": {
      const names = lists.feed.flatMap((message) => [message.from_peer_name, message.to_peer_name]);
      const width = nameColumns(names, context);
      return lists.feed.map((message, index) => ({
        index,
        line: () => messageRow(message, width, context),
      }));
    }
  }
}
