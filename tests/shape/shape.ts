/** The figures of the code's shape, each with its target: points 3 to 7 of the style guide. */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { deepFeatures, FOLDER_FILES_MAX, upwardImports } from "../tidy/architecture.ts";
import { layerOf, LAYERS } from "../tidy/layers.ts";
import { type Source, sources } from "../tidy/sources.ts";
import { upwardRows } from "../tidy/upward.ts";
import { cyclesIn } from "./cycles.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A measurement of one node, such as the lines of a function or the depth of a block. */
export interface Measurement {
  readonly path: string;
  readonly kind: string;
  readonly number: number;
}

/** A figure, its target, and what misses the target. */
export interface Figure {
  /** The number of the point in section 6 of the style guide. */
  readonly point: number;
  readonly name: string;
  readonly value: number;
  readonly target: number;
  readonly misses: readonly string[];
}

const Report = z.object({
  diagnostics: z.array(z.object({ filename: z.string(), message: z.string() })),
});

/** Measures sources with the linter's own parser. */
async function measure(paths: readonly string[]): Promise<Measurement[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["lint", "--json", "--config", "tests/shape/lint.json", ...paths],
    cwd: ROOT,
  }).output();
  const { diagnostics } = Report.parse(JSON.parse(new TextDecoder().decode(stdout)));
  return diagnostics.map(({ filename, message }) => {
    const [kind = "", number] = message.split(" ");
    const path = fileURLToPath(filename).slice(ROOT.length);
    return { path, kind, number: Number(number) };
  });
}

/** A figure for each target, in the order of the points. */
export function figuresOf(files: readonly Source[], measured: readonly Measurement[]): Figure[] {
  const of = (kind: string) => measured.filter((measurement) => measurement.kind === kind);
  const lines = files.map(({ path, text }) => ({
    path,
    kind: "file",
    number: text.split("\n").length - 1,
  }));
  const total = lines.reduce((sum, { number }) => sum + number, 0);
  const casts = of("cast").filter(({ path }) => !path.startsWith("kit/"));
  const folders = [...Map.groupBy(files, ({ path }) => dirname(path))].map(([path, all]) => ({
    path,
    kind: "folder",
    number: all.length,
  }));
  return [
    part(3, "file lines, p50", lines, 0.5, 130),
    part(3, "file lines, p90", lines, 0.9, 300),
    part(4, "function lines, p95", of("function"), 0.95, 30),
    largest(4, "function lines, max", of("function"), 60),
    count(4, "classes over 150 lines", over(of("class"), 150)),
    largest(4, "nesting, max", of("nesting"), 4),
    largest(5, "files in a folder, max", folders, FOLDER_FILES_MAX),
    count(5, "folders of one or two files", smallFolders(folders)),
    count(5, "files more than 2 levels deep in a feature", deepFeatures(files)),
    count(6, "import cycles", cyclesIn(files).map((cycle) => cycle.join(" ↔ "))),
    count(6, "imports against the order of layers and features", upwardImports(files)),
    count(6, "layers in a cycle, with effects and ports counted", upwardCycles(files)),
    count(7, "any", of("any").map(({ path }) => path)),
    rate(7, "casts outside kit per 1,000 lines", casts, total, 1),
    count(7, "non-null assertions", of("non-null").map(({ path }) => path)),
    count(7, "ignored type errors", ignoredErrors(files)),
  ];
}

/** The value below which this part of all values lies. */
function part(
  point: number,
  name: string,
  measured: readonly Measurement[],
  share: number,
  target: number,
): Figure {
  const sorted = measured.map(({ number }) => number).sort((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { point, name, value, target, misses: [] };
}

function largest(
  point: number,
  name: string,
  measured: readonly Measurement[],
  target: number,
): Figure {
  const sorted = measured.toSorted((a, b) => b.number - a.number);
  const misses = sorted.filter(({ number }) => number > target);
  return {
    point,
    name,
    value: sorted[0]?.number ?? 0,
    target,
    misses: misses.map(({ path, number }) => `${path}: ${number}`),
  };
}

/** The measurements over a size, largest first. */
function over(measured: readonly Measurement[], size: number): string[] {
  return measured.filter(({ number }) => number > size).toSorted((a, b) => b.number - a.number)
    .map(({ path, number }) => `${path}: ${number}`);
}

function smallFolders(folders: readonly Measurement[]): string[] {
  return folders.filter(({ number }) => number <= 2).map(({ path, number }) =>
    `${path}: ${number}`
  );
}

/** The groups of layers that reach each other by imports and by rows of the upward tables. */
function upwardCycles(files: readonly Source[]): string[] {
  const layers = new Map<string, Set<string>>(LAYERS.map((layer) => [layer, new Set()]));
  const nameOf = (path: string) => LAYERS[layerOf(path) ?? -1];
  for (const { path, imports } of files) {
    const from = layers.get(nameOf(path) ?? "");
    for (const { to } of imports) from?.add(nameOf(to) ?? "");
  }
  for (const { from, to } of upwardRows(files)) to.forEach((layer) => layers.get(from)?.add(layer));
  const graph = [...layers].map(([path, reached]) => ({
    path,
    imports: [...reached].map((to) => ({ to, type_only: false, lazy: false })),
  }));
  return cyclesIn(graph).map((cycle) => cycle.join(" ↔ "));
}

function count(point: number, name: string, misses: readonly string[]): Figure {
  return { point, name, value: misses.length, target: 0, misses };
}

function rate(
  point: number,
  name: string,
  found: readonly Measurement[],
  total: number,
  target: number,
): Figure {
  const value = Number((found.length * 1000 / Math.max(1, total)).toFixed(2));
  const files = [...Map.groupBy(found, ({ path }) => path)]
    .sort(([, a], [, b]) => b.length - a.length);
  const misses = files.map(([path, all]) => `${path}: ${all.length}`);
  return { point, name, value, target, misses: value > target ? misses : [] };
}

function ignoredErrors(files: readonly Source[]): string[] {
  return files.filter(({ text }) => /@ts-(ignore|expect-error|nocheck)/.test(text))
    .map(({ path }) => path);
}

async function main(): Promise<void> {
  const files = sources().filter(({ path }) => !path.startsWith("tests/"));
  const total = files.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
  print(`${total} lines in ${files.length} files\n`);
  const figures = figuresOf(files, await measure(files.map(({ path }) => path)));
  const width = Math.max(...figures.map(({ name }) => name.length));
  for (const { point, name, value, target, misses } of figures) {
    const verdict = value > target ? "  missed" : "";
    print(`${point}  ${name.padEnd(width)}  ${String(value).padStart(5)} of ${target}${verdict}`);
    for (const miss of misses) print(`     ${miss}`);
  }
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) await main();
