/** The figures of the scale proof as tables of Markdown. */

import type { MeasuredScale } from "./run_file.ts";
import { exponentOf, type Growth, type Point, type Single } from "./growth.ts";

const ROUNDED_FROM = 100;

/** A part's growth, with one column for each size, and its single figures. */
export function tablesOf({ growth, singles }: MeasuredScale): string[] {
  const sizes = [...new Set(growth.flatMap(({ points }) => points.map(({ n }) => n)))];
  const of = growth[0]?.of ?? "";
  return [
    ...growth.length === 0 ? [] : table(
      [of, ...sizes.map((size) => size.toLocaleString("en")), "grows with", "holds up deliveries"],
      growth.map((curve) => rowOf(curve, sizes)),
    ),
    ...singles.length === 0 ? [] : ["", ...table(["what", "figure"], singles.map(singleRow))],
  ];
}

function rowOf(growth: Growth, sizes: readonly number[]): string[] {
  const at = (size: number) => growth.points.find(({ n }) => n === size);
  const exponent = exponentOf(growth);
  return [
    growth.what,
    ...sizes.map((size) => format(at(size)?.ms)),
    exponent === undefined ? "" : `n^${exponent.toFixed(1).replace("-0.0", "0.0")}`,
    longest(growth.points.at(-1)),
  ];
}

function longest(point: Point | undefined): string {
  return point?.block_ms === undefined ? "" : `${format(point.block_ms)} ms`;
}

function singleRow({ what, value, unit, note }: Single): string[] {
  return [note === undefined ? what : `${what} (${note})`, `${format(value)} ${unit}`.trim()];
}

/** Two significant digits, and whole numbers from 100 on. */
export function format(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "";
  const rounded = Math.abs(value) >= ROUNDED_FROM
    ? Math.round(value)
    : Number(value.toPrecision(2));
  return rounded.toLocaleString("en", { maximumFractionDigits: 6 });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, at) =>
    Math.max(3, cell.length, ...rows.map((row) => row[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(head), rule, ...rows.map(line)];
}
