/** Draws a recorded terminal as an animated SVG: each row once, shown while it stood there. */

/** Screen of the terminal from a time on; the rows have the escape sequences of colours. */
export interface Frame {
  readonly at_ms: number;
  readonly rows: readonly string[];
}

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** When a row had a text. */
interface Span {
  readonly row: number;
  readonly text: string;
  readonly from_ms: number;
  to_ms: number;
}

interface Piece {
  readonly column: number;
  readonly text: string;
  readonly classes: string;
}

const CELL = { width: 8.4, height: 18 } as const;
const MARGIN = 14;
const CLASSES: Readonly<Record<string, string>> = {
  "1": "bold",
  "2": "dim",
  "31": "red",
  "32": "green",
  "33": "yellow",
  "36": "cyan",
};
const STYLE = `text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}` +
  `.bold{font-weight:700}.dim{fill:#8b919c}.red{fill:#f07178}.green{fill:#9ccc65}` +
  `.yellow{fill:#ffcb6b}.cyan{fill:#6fc3df}` +
  `@media(prefers-reduced-motion:reduce){g{animation:none!important}}`;

export function terminalSvg(frames: readonly Frame[], end_ms: number, size: Size): string {
  const spans = spansOf(frames, end_ms).filter(({ text }) => plain(text).trim() !== "");
  const width = Math.round(size.columns * CELL.width + 2 * MARGIN);
  const height = size.rows * CELL.height + 2 * MARGIN;
  const windows = [...new Set(spans.map(windowOf))];
  const keyframes = windows.map((window, at) => keyframesOf(window, at, end_ms));
  const seconds = (end_ms / 1000).toFixed(1);
  const groups = windows.map((window, at) => {
    const drawn = spans.filter((span) => windowOf(span) === window).map(drawRow).join("");
    const [from, to] = window.split("-").map(Number);
    // Without animation, the last frame is shown.
    const first = to === end_ms ? "" : ' visibility="hidden"';
    const isWhole = from === 0 && to === end_ms;
    const style = isWhole ? "" : ` style="animation:k${at} ${seconds}s step-end infinite"`;
    return `<g${first}${style}>${drawn}</g>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
    `width="${width}" height="${height}" role="img">\n<title>A recorded terminal</title>\n` +
    `<style>${STYLE}\n${keyframes.join("")}</style>\n` +
    `<rect width="100%" height="100%" rx="8" fill="#1b1e25"/>\n${groups.join("")}</svg>\n`;
}

function spansOf(frames: readonly Frame[], end_ms: number): Span[] {
  const done: Span[] = [];
  const open = new Map<number, Span>();
  for (const { at_ms, rows } of frames) {
    rows.forEach((text, row) => {
      const current = open.get(row);
      if (current?.text === text) return;
      if (current) done.push({ ...current, to_ms: at_ms });
      open.set(row, { row, text, from_ms: at_ms, to_ms: end_ms });
    });
  }
  return [...done, ...open.values()];
}

const windowOf = ({ from_ms, to_ms }: Span) => `${from_ms}-${to_ms}`;

function keyframesOf(window: string, at: number, end_ms: number): string {
  const [from = 0, to = 0] = window.split("-").map(Number);
  const percent = (ms: number) => `${Number((100 * ms / end_ms).toFixed(2))}%`;
  const before = from === 0 ? "" : "0%{visibility:hidden}";
  const after = to === end_ms ? "" : `${percent(to)}{visibility:hidden}`;
  return `@keyframes k${at}{${before}${percent(from)}{visibility:visible}${after}}\n`;
}

function drawRow({ row, text }: Span): string {
  const y = MARGIN + row * CELL.height + 14;
  return piecesOf(text).map((piece) => {
    const x = Number((MARGIN + piece.column * CELL.width).toFixed(1));
    const length = Number((piece.text.length * CELL.width).toFixed(1));
    const classes = piece.classes && ` class="${piece.classes}"`;
    return `<text x="${x}" y="${y}" textLength="${length}"${classes}>${
      escapeXml(piece.text)
    }</text>`;
  }).join("");
}

/** The words of a row with their colours; spaces between them are left out. */
function piecesOf(row: string): Piece[] {
  const pieces: Piece[] = [];
  let column = 0;
  let codes: string[] = [];
  // deno-lint-ignore no-control-regex -- A row has the escape sequences of colours.
  for (const [, sequence, text = ""] of row.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
    if (sequence !== undefined) {
      for (const code of sequence.split(";")) {
        if (code === "0" || code === "") codes = [];
        else if (code === "39") codes = codes.filter((active) => !active.startsWith("3"));
        else codes = [...codes, code];
      }
      continue;
    }
    const classes = codes.flatMap((code) => CLASSES[code] ?? []).join(" ");
    for (const { index, 0: words } of text.matchAll(/\S+(?: \S+)*/g)) {
      pieces.push({ column: column + index, text: words, classes });
    }
    column += text.length;
  }
  return pieces;
}

// deno-lint-ignore no-control-regex -- It removes the escape sequences of colours.
const plain = (row: string) => row.replaceAll(/\x1b\[[\d;]*m/g, "");

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
