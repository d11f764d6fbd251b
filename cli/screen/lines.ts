/** Lines of styled text: measured, cut, filled up and wrapped to a number of columns. */

import { clean, type Style, type StyledText, toPlainText } from "../output/terminal.ts";
import { cutToWidths, displayWidth, truncate } from "../output/table.ts";

export type Line = readonly StyledText[];

export function lineWidth(line: Line): number {
  return line.reduce((sum, segment) => sum + displayWidth(toPlainText(segment)), 0);
}

/** The line, cut with an ellipsis if it does not fit. */
export function fit(line: Line, columns: number): StyledText[] {
  const fitted: StyledText[] = [];
  let left = columns;
  for (const segment of line) {
    const text = toPlainText(segment);
    const width = displayWidth(text);
    if (width > left) {
      fitted.push(withText(segment, truncate(text, left)));
      return fitted;
    }
    fitted.push(withText(segment, text));
    left -= width;
  }
  return fitted;
}

/** The line, cut or filled with blanks to exactly this width. */
export function fill(line: Line, columns: number): StyledText[] {
  const fitted = fit(line, columns);
  const missing = columns - lineWidth(fitted);
  return missing > 0 ? [...fitted, " ".repeat(missing)] : fitted;
}

/** The line, followed by a rule to the end of the row. */
export function withRule(line: Line, columns: number, rule: { style: Style; sign: string }): Line {
  const left = columns - lineWidth(line) - 1;
  if (left < 1) return fit(line, columns);
  return [...line, " ", { style: rule.style, text: rule.sign.repeat(left) }];
}

/** The whole line in one style, whatever its parts had. */
export function inStyle(line: Line, style: Style): StyledText[] {
  return [{ style, text: line.map(toPlainText).join("") }];
}

/** The line in rows of at most this width, broken between words where possible. */
export function wrap(line: Line, columns: number): Line[] {
  const rows: StyledText[][] = [[]];
  let used = 0;
  const add = (segment: StyledText, text: string, width: number) => {
    rows.at(-1)?.push(withText(segment, text));
    used += width;
  };
  for (const segment of line) {
    for (const word of toPlainText(segment).split(/(?<= )(?=[^ ])/)) {
      const width = displayWidth(word.trimEnd());
      if (used > 0 && used + width > columns) {
        rows.push([]);
        used = 0;
      }
      if (width <= columns) {
        const fits = used + displayWidth(word) <= columns;
        add(segment, fits ? word : word.trimEnd(), displayWidth(word));
        continue;
      }
      for (const piece of cutToWidths(word, Math.max(1, columns))) {
        if (used > 0) rows.push([]);
        used = 0;
        add(segment, piece, displayWidth(piece));
      }
    }
  }
  return rows;
}

/** The first line of a text that has one, as far as a row may show it. */
export function firstLine(text: string): string {
  const start = text.slice(0, FIRST_LINE_CHARS_MAX).trimStart();
  return clean(start.split(/[\r\n]/, 1)[0] ?? "");
}

/** More than any terminal is wide: what follows is not measured. */
const FIRST_LINE_CHARS_MAX = 1000;

function withText(segment: StyledText, text: string): StyledText {
  return typeof segment === "string" ? text : { ...segment, text };
}
