/** Figures as rows of a table that fits `COLUMNS` columns. */

import {
  type Budget,
  type Figure,
  isWithinBudget,
  medianOf,
  ratioOf,
  summaryOf,
  type Yardstick,
} from "./figures.ts";

export const COLUMNS = 120;

const WIDTHS = { what: 35, ours: 25, yardstick: 31, ratio: 6, budget: 9 };
const GAP = "  ";

export function headLine(): string {
  const { what, ours, yardstick, ratio, budget } = WIDTHS;
  const cells = [
    "median (smallest to largest)".padEnd(what),
    "ours".padStart(ours),
    "yardstick".padEnd(yardstick),
    "ratio".padStart(ratio),
    "budget".padStart(budget),
  ];
  return cells.join(GAP).trimEnd();
}

/** The lines of a figure: its row, its note, and the rows of its details. */
export function linesOf(figure: Figure, depth = 0): string[] {
  const indent = "  ".repeat(depth);
  const note = figure.note === undefined ? [] : wrapLines(figure.note, `${indent}  `);
  const details = figure.details ?? [];
  return [row(figure, indent), ...note, ...details.flatMap((detail) => linesOf(detail, depth + 1))];
}

/** Old and new medians of the figures that both runs have, and how much each changed. */
export function comparisonLines(before: readonly Figure[], after: readonly Figure[]): string[] {
  const old = new Map(flatten(before).map((figure) => [figure.what, figure]));
  const rows = flatten(after).flatMap((figure) => {
    const other = old.get(figure.what);
    return other ? [comparison(other, figure)] : [];
  });
  const heads = ["old", "new", "change", "old ratio", "new ratio"];
  const head = ["".padEnd(56), ...heads.map((text) => text.padStart(10))].join(GAP);
  return [head, ...rows];
}

function row(figure: Figure, indent: string): string {
  const { what, unit, ours, yardstick, budget } = figure;
  const ratio = ratioOf(figure) ?? NaN;
  const kept = isWithinBudget(figure);
  const cells = [
    cut(indent + what, WIDTHS.what).padEnd(WIDTHS.what),
    `${spread(ours)} ${unit}`.trimEnd().padStart(WIDTHS.ours),
    cut(yardstick ? besides(yardstick) : "", WIDTHS.yardstick).padEnd(WIDTHS.yardstick),
    (Number.isFinite(ratio) ? short(ratio) : "").padStart(WIDTHS.ratio),
    (budget ? limit(budget, unit) : "").padStart(WIDTHS.budget),
    kept === undefined ? "" : kept ? "kept" : "over",
  ];
  return cells.join(GAP).trimEnd();
}

function besides({ name, samples }: Yardstick): string {
  return `${spread(samples)} ${name}`;
}

function spread(samples: readonly number[]): string {
  const { median, min, max } = summaryOf(samples);
  return min === max ? short(median) : `${short(median)} (${short(min)}–${short(max)})`;
}

function limit({ of, min, max }: Budget, unit: string): string {
  const text = min === undefined ? `≤ ${max}` : `≥ ${min}`;
  return of === "ratio" ? text : `${text} ${unit}`;
}

function comparison(before: Figure, after: Figure): string {
  const [old, now] = [medianOf(before.ours), medianOf(after.ours)];
  const change = 100 * (now - old) / old;
  const ratios = [ratioOf(before), ratioOf(after)]
    .map((ratio = NaN) => Number.isFinite(ratio) ? short(ratio) : "");
  const cells = [
    short(old),
    short(now),
    Number.isFinite(change) ? `${change > 0 ? "+" : ""}${change.toFixed(0)} %` : "",
    ...ratios,
  ];
  const what = cut(`${after.what}, ${after.unit}`, 56).padEnd(56);
  return [what, ...cells.map((text) => text.padStart(10))].join(GAP).trimEnd();
}

/** Details get the name of their figure in front. */
function flatten(figures: readonly Figure[], under = ""): Figure[] {
  return figures.flatMap((figure) => {
    const what = under + figure.what;
    return [{ ...figure, what }, ...flatten(figure.details ?? [], `${what}: `)];
  });
}

/** Three digits, and all of a large number. */
export function short(value: number): string {
  if (Math.abs(value) >= 99.95) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(3)).toString();
}

function wrapLines(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line && indent.length + line.length + 1 + word.length > COLUMNS) {
      lines.push(indent + line);
      line = "";
    }
    line += line ? ` ${word}` : word;
  }
  return [...lines, indent + line];
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
