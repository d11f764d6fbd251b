/** Pictures of the live view as text, for a golden file. */

import type { Clock } from "kit/core/clock.ts";
import { renderLine } from "../../../cli/output/terminal.ts";
import type { Frame } from "../../../cli/screen/screen.ts";
import { displayWidth } from "../../../cli/output/table.ts";
import { draw } from "../../../cli/live/render/frame.ts";
import { press } from "../../../cli/live/press.ts";
import type { Records } from "../../../cli/live/records.ts";
import { FIRST_VIEW, modelOf, type View } from "../../../cli/live/view.ts";
import { FakeClock } from "../clock.ts";
import { NOW, someRecords } from "./live_records.ts";

const CLOCK: Clock = new FakeClock(NOW);
const METRICS = { page: 5, scroll_max: 0, columns: 80 };

/** The rows of a frame as plain text. */
export function rowsOf({ rows }: Frame): string[] {
  return rows.map((parts) =>
    parts.reduce((row, { column, line }) => {
      const before = row + " ".repeat(Math.max(0, column - displayWidth(row)));
      return before + renderLine(line, { colours: false });
    }, "")
  );
}

/** The view after some keys. */
export function viewAfter(keys: readonly string[], records: Records = someRecords()): View {
  const model = modelOf(records);
  return keys.reduce((view, key) => press(view, model, key, METRICS).view, FIRST_VIEW);
}

export function frameOf(view: View, columns: number, rows: number, records = someRecords()): Frame {
  return draw(view, modelOf(records), { columns, rows }, CLOCK).frame;
}

const opened: View = {
  ...FIRST_VIEW,
  detail: {
    of: "message",
    id: "ask-3f9c04d1a2b7",
    peer: { peer_id: "peer-web", name: "web" },
    lines: [["ask  ask-3f9c04d1a2b7"], [], [
      "Which port do you listen on, and is CORS open for it?",
    ]],
    scroll: 0,
  },
};
const killing: View = {
  ...FIRST_VIEW,
  section: "peers",
  overlay: {
    kind: "kill",
    peer: { peer_id: "peer-web", name: "web" },
    losses: [["Process 7 is ended, and the peer is retired."], [
      "1 open ask to it is closed unanswered",
    ]],
  },
};
const failed: View = {
  ...viewAfter(["2", "c", "H", "i"]),
  notice: { text: "No transport reaches infra; wait, or ask another peer", isError: true },
};

/** Title, view, size and records of each picture. */
const PICTURES: readonly [
  what: string,
  view: View,
  columns: number,
  rows: number,
  records?: Records,
][] = [
  ["60 × 20", FIRST_VIEW, 60, 20],
  ["100 × 30", FIRST_VIEW, 100, 30],
  ["200 × 24", FIRST_VIEW, 200, 24],
  ["60 × 8: one section at a time", viewAfter(["2"]), 60, 8],
  ["an opened message", opened, 60, 12],
  ["an opened message at 160 columns", opened, 160, 14],
  ["a choice", viewAfter(["a", "j"]), 60, 20],
  ["an answer", viewAfter(["j", "a", "Y", "e", "s"]), 60, 20],
  ["a failed send: the draft stays", failed, 80, 20],
  ["before a kill", killing, 60, 20],
  ["the keys", viewAfter(["?"]), 60, 20],
  [
    "a search",
    viewAfter(["3"]),
    60,
    20,
    someRecords({
      found: { query: "port", rows: someRecords().messages.rows.slice(1, 2), hasMore: false },
    }),
  ],
  ["disconnected", FIRST_VIEW, 60, 12, someRecords({ lost_at: Date.parse(NOW) })],
  ["nothing yet", FIRST_VIEW, 60, 12, {
    ...someRecords({ peers: [], open_asks: [], inbox: undefined }),
    messages: { rows: [], hasMore: false },
  }],
];

export function renderPictures(): string {
  return PICTURES.map(([what, view, columns, rows, records]) => {
    const lines = rowsOf(frameOf(view, columns, rows, records)).map((row) => row.trimEnd());
    return `# ${what}\n\n${lines.map((line) => `|${line}`).join("\n")}\n`;
  }).join("\n");
}
