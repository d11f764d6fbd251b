/** The whole frame: the header, the sections or the open detail, the panel and the footer. */

import { styled } from "../../output/terminal.ts";
import type { ScreenSize } from "../../output/terminal.ts";
import { formatDayTime } from "../../output/time.ts";
import type { Frame, RowPart } from "../../screen/screen.ts";
import { fill, fit, inStyle, type Line, lineWidth, withRule, wrap } from "../../screen/lines.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Section } from "../sections.ts";
import { type Detail, isInbox, type Model, type View } from "../view.ts";
import type { Metrics } from "../press.ts";
import { Ages } from "./rows.ts";
import { footerLines, helpLines } from "./footer.ts";
import { shareRows } from "./layout.ts";
import { panelOf } from "./panel.ts";
import { sectionLines, wantedRows } from "./sections.ts";

/** Minimum width at which the feed or the open detail has its own column. */
const WIDE_COLUMNS = 140;

interface LiveFrame {
  readonly frame: Frame;
  readonly metrics: Metrics;
}

interface Area {
  readonly columns: number;
  readonly height: number;
  readonly ages: Ages;
}

export function draw(
  view: View,
  model: Model,
  { columns, rows }: ScreenSize,
  clock: Clock,
): LiveFrame {
  const ages = new Ages(clock.now());
  const footer = footerLines(view, model, columns);
  const space = Math.max(0, rows - 1 - footer.length);
  const panel = panelOf(view, columns, Math.max(2, space - 2));
  const height = Math.max(0, space - panel.lines.length);
  const body = bodyOf(view, model, { columns, height, ages });
  const lines = [
    [partOf(header(model, columns, clock))],
    ...body.rows,
    ...panel.lines.map((line) => [partOf(line)]),
    ...footer.map((line) => [partOf(line)]),
  ].slice(0, rows);
  const cursor = panel.cursor && {
    row: 1 + height + panel.cursor.row,
    column: Math.min(panel.cursor.column, columns - 1),
  };
  const cut = lines.map((row) =>
    row.map(({ column, line }) => ({ column, line: fit(line, columns - column) }))
  );
  return { frame: { rows: cut, cursor, valid_ms: ages.valid_ms }, metrics: body.metrics };
}

const partOf = (line: Line, column = 0): RowPart => ({ column, line });

function header({ records, lists }: Model, columns: number, clock: Clock): Line {
  if (records.lost_at !== undefined) {
    const since = formatDayTime(new Date(records.lost_at).toISOString(), clock);
    const text = ` disconnected since ${since.split(" ")[0]}, reconnecting; data is stale`;
    return inStyle(fill([text], columns), "inverse");
  }
  if (!records.loaded) return [styled("bold", "mesh"), styled("dim", "  loading…")];
  const online = records.peers.filter(({ status }) => status !== "offline");
  const working = online.filter(({ status, turn_state }) =>
    status === "busy" || turn_state === "working"
  );
  const waiting = lists.attention.length;
  const left: Line = [
    styled("bold", "mesh"),
    `  ${online.length} of ${records.peers.length} peers online, ${working.length} working  `,
    waiting > 0 ? styled("yellow", `${waiting} for you`) : styled("green", "nothing for you"),
  ];
  const right = records.inbox ? `you are ${records.inbox.human}` : "";
  const gap = columns - lineWidth(left) - lineWidth([right]);
  return gap > 1 ? [...left, " ".repeat(gap), styled("dim", right)] : left;
}

function bodyOf(view: View, model: Model, area: Area): { rows: RowPart[][]; metrics: Metrics } {
  const { columns, height } = area;
  const oneColumn = (lines: readonly Line[], page: number, scroll_max = 0) => {
    const rows = lines.map((line) => [partOf(line)]);
    return { rows: fillRows(rows, height, []), metrics: { page, scroll_max, columns } };
  };
  if (view.overlay?.kind === "help") {
    return oneColumn([[styled("bold", "Keys")], ...helpLines(view, columns)], height);
  }
  if (columns >= WIDE_COLUMNS && height > 0 && !isInbox(view)) return wideBody(view, model, area);
  if (view.detail) {
    const { lines, scroll_max } = detailLines(view.detail, columns, height);
    return oneColumn(lines, height - 1, scroll_max);
  }
  const { lines, page } = stackSections(view, model, area, view.sections);
  return oneColumn(lines, page);
}

/** Two columns: attention and peers on the left, the feed or the detail on the right. */
function wideBody(view: View, model: Model, area: Area): { rows: RowPart[][]; metrics: Metrics } {
  const { height } = area;
  const left_columns = Math.floor((area.columns - 3) / 2);
  const column = left_columns + 3;
  const columns = area.columns - column;
  const left = stackSections(view, model, { ...area, columns: left_columns }, [
    "attention",
    "peers",
  ]);
  const detail = view.detail && detailLines(view.detail, columns, height);
  const feed = stackSections(view, model, { ...area, columns }, ["feed"]);
  const right = detail?.lines ?? feed.lines;
  const rows = Array.from({ length: height }, (_, row) =>
    [
      partOf(left.lines[row] ?? []),
      partOf([styled("dim", "│")], left_columns + 1),
      partOf(right[row] ?? [], column),
    ].map((part) => ({
      ...part,
      line: part.column === 0 ? fit(part.line, left_columns) : part.line,
    })));
  const page = detail ? height - 1 : view.section === "feed" ? feed.page : left.page;
  return { rows, metrics: { page, scroll_max: detail?.scroll_max ?? 0, columns } };
}

/** Sections one above the other. */
function stackSections(
  view: View,
  model: Model,
  { columns, height, ages }: Area,
  sections: readonly Section[],
): { lines: Line[]; page: number } {
  const wants = {
    attention: wantedRows("attention", model),
    peers: wantedRows("peers", model),
    feed: wantedRows("feed", model),
  };
  const focus = sections.includes(view.section) ? view.section : sections[0] ?? view.section;
  const heights = shareRows(wants, height, focus, sections);
  const lines = sections.flatMap((section) => {
    const drawn = sectionLines(section, view, model, { columns, ages, height: heights[section] });
    return fillRows(drawn, heights[section], []);
  });
  return { lines, page: Math.max(1, heights[focus] - 2) };
}

function detailLines(
  { lines, scroll, of, id }: Detail,
  columns: number,
  height: number,
): { lines: Line[]; scroll_max: number } {
  const name = of === "peer" ? "Peer" : of === "item" ? "To you" : "Message";
  const head = [styled("cyan", "━━ "), styled("bold", name), styled("dim", ` ${id}`)];
  const title = withRule(head, columns, { style: "cyan", sign: "━" });
  const wrapped = (lines ?? [[styled("dim", "Loading…")]]).flatMap((line) => wrap(line, columns));
  const scroll_max = Math.max(0, wrapped.length - (height - 1));
  const start = Math.min(scroll, scroll_max);
  const shown = wrapped.slice(start, start + height - 1);
  const below = wrapped.length - start - shown.length;
  if (below > 0) shown.splice(-1, 1, [styled("dim", `… ${below + 1} more lines, j scrolls`)]);
  return { lines: [title, ...shown], scroll_max };
}

/** Exactly `height` rows. */
function fillRows<A>(rows: readonly A[], height: number, blank: A): A[] {
  const missing = Math.max(0, height - rows.length);
  return [...rows.slice(0, height), ...Array.from({ length: missing }, () => blank)];
}
