/** The last lines of the screen: the latest notice or the keys, and the help. */

import { styled, type StyledText } from "../../output/terminal.ts";
import { type Line, lineWidth, wrap } from "../../screen/lines.ts";
import { isInbox, type Model, type View } from "../view.ts";

type Hint = readonly [key: string, meaning: string];

const NOTICE_ROWS_MAX = 2;

const ALWAYS: readonly Hint[] = [["?", "keys"], ["q", "quit"]];
// deno-fmt-ignore
const HINTS: Readonly<Record<View["section"], readonly Hint[]>> = {
  attention: [["Enter", "opens"], ["a", "answers"], ["s", "marks read"], ["g", "pane"], ["Tab", "peers"],
    ["/", "search"]],
  peers: [["Enter", "opens"], ["c", "asks"], ["n", "notifies"], ["g", "pane"], ["i", "stops"], ["x", "kills"],
    ["f", "offline"], ["Tab", "feed"], ["/", "search"]],
  feed: [["Enter", "opens"], ["/", "search"], ["c", "asks"], ["n", "notifies"], ["Tab", "attention"]],
};
// deno-fmt-ignore
const INBOX: readonly Hint[] = [
  ["Enter", "opens"], ["a", "answers"], ["e", "editor"], ["s", "marks read"], ["l", "later"], ["g", "pane"],
];
const DETAIL: readonly Hint[] = [
  ["Esc", "back"],
  ["j k", "scroll"],
  ["a", "answers"],
  ["e", "editor"],
  ["c", "asks"],
  ["n", "notifies"],
  ["g", "pane"],
];
// deno-fmt-ignore
const FIELD: readonly Hint[] = [
  ["Enter", "sends"], ["Esc", "leaves, keeps it"], ["Ctrl-G", "editor"], ["Alt-Enter", "new line"],
];

export function footerLines(view: View, model: Model, columns: number): Line[] {
  if (view.notice) {
    const { text, isError } = view.notice;
    const line = isError ? [styled("red", "Error: "), text] : [styled("yellow", text)];
    return wrap(line, columns).slice(0, NOTICE_ROWS_MAX);
  }
  const hints = hintsOf(view, model);
  const kept = hints.filter((hint) => ALWAYS.includes(hint)).length;
  return [hintLine(hints, kept, columns)];
}

function hintsOf(view: View, { records }: Model): readonly Hint[] {
  const { overlay, detail, section } = view;
  switch (overlay?.kind) {
    case "write": {
      const { kind } = overlay.target;
      if (kind === "search") return [["Enter", "searches"], ["Esc", "leaves"]];
      if (kind === "answer") return FIELD;
      const verb: Hint = ["Tab", kind === "ask" ? "notify instead" : "ask instead"];
      return [...FIELD.slice(0, 2), verb, ...FIELD.slice(2)];
    }
    case "choose":
      return [["Enter or digit", "answers"], ["t", "types an answer"], ["Esc", "leaves"]];
    case "kill":
      return [["y", "kills it"], ["any other key", "leaves it"]];
    case "interrupt":
      return [["y", "stops it"], ["any other key", "leaves it"]];
    case "help":
      return [["any key", "back"]];
    default:
      if (detail) return [...DETAIL, ...ALWAYS];
      if (isInbox(view)) return [...INBOX, ...ALWAYS];
      return [
        ...(records.found ? [["Esc", "ends the search"]] as const : []),
        ...HINTS[section],
        ...ALWAYS,
      ];
  }
}

/** As many hints as fit; the first and the `kept` last ones stay longest. */
function hintLine(hints: readonly Hint[], kept: number, columns: number): Line {
  const shown = [...hints];
  const draw = (): StyledText[] =>
    shown.flatMap(([key, meaning], at) => [
      at === 0 ? "" : "  ",
      styled("bold", key),
      styled("dim", ` ${meaning}`),
    ]);
  while (shown.length > kept + 1 && lineWidth(draw()) > columns) shown.splice(-1 - kept, 1);
  return draw();
}

// deno-fmt-ignore
const HELP: readonly Hint[] = [
  ["j k, arrows", "move; PgUp PgDn Home End move further"],
  ["Tab, 1 2 3", "go to the next section, or to one by its number"],
  ["1 to 9", "choose this option of the question"],
  ["Enter", "opens a message with its trace, or a peer with its evidence"],
  ["a", "answers the question or the message to you"],
  ["s", "marks a message to you as read"],
  ["l", "leaves what waits for you for later, at the end of the list"],
  ["c, n", "ask the selected peer, or notify it"],
  ["e", "writes the answer or the ask in $EDITOR"],
  ["f", "shows the offline peers, or hides them"],
  ["/", "searches all messages: words, \"a phrase\", prefix*"],
  ["g, J", "show the pane of the peer; tmux's prefix and d leaves it"],
  ["i", "stops what a peer does now; it goes on running"],
  ["x", "kills a peer, after it has said what is lost"],
  ["o", "opens the dashboard"],
  ["Esc", "goes back; what you typed is kept"],
  ["q, Ctrl-C", "quit"],
];

/** Keys that only one of the two views has. */
const NOT_IN_INBOX: readonly string[] = ["Tab, 1 2 3", "f", "/"];
const ONLY_IN_INBOX: readonly string[] = ["1 to 9"];

export function helpLines(view: View, columns: number): Line[] {
  const width = 13;
  const others = isInbox(view) ? NOT_IN_INBOX : ONLY_IN_INBOX;
  return HELP.filter(([key]) => !others.includes(key)).flatMap(([key, meaning]) => {
    const [first = [], ...more] = wrap([meaning], Math.max(10, columns - width));
    const head: Line = [styled("bold", key.padEnd(width)), ...first];
    return [head, ...more.map((line): Line => [" ".repeat(width), ...line])];
  });
}
