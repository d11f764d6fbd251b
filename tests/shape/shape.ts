/** The figures of the code's shape (`deno task shape`): sizes, folders, imports, honest types. */

import { fileURLToPath } from "node:url";
import * as z from "zod";
import { type Source, sources } from "../tidy/sources.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PRODUCT = [
  "main.ts",
  "cli.ts",
  "cli",
  "daemon",
  "dashboard",
  "kit",
  "relay",
];

const Report = z.object({
  diagnostics: z.array(z.object({ filename: z.string(), message: z.string() })),
});

interface Measured {
  readonly path: string;
  readonly kind: string;
  readonly number: number;
}

/** Measures the product's sources with the linter's own parser. */
async function measure(): Promise<Measured[]> {
  const there = PRODUCT.filter(exists);
  const args = [
    "lint",
    "--json",
    "--config",
    "tests/shape/lint.json",
    ...there,
  ];
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
  }).output();
  const { diagnostics } = Report.parse(
    JSON.parse(new TextDecoder().decode(stdout)),
  );
  return diagnostics.map(({ filename, message }) => {
    const [kind = "", number] = message.split(" ");
    const path = fileURLToPath(filename).slice(ROOT.length);
    return { path, kind, number: Number(number) };
  });
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(`${ROOT}${path}`) !== undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The value below which this part of all values lies. */
function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[
    Math.min(sorted.length - 1, Math.floor(part * sorted.length))
  ] ?? 0;
}

function max(values: readonly number[]): number {
  return values.reduce((max, value) => Math.max(max, value), 0);
}

/** Groups of files that import each other in a circle, type imports and lazy ones included. */
export function cyclesIn(
  files: readonly Pick<Source, "path" | "imports">[],
): string[][] {
  const edges = new Map(
    files.map(({ path, imports }) => [path, imports.map(({ to }) => to)]),
  );
  const numbers = new Map<
    string,
    { index: number; low: number; open: boolean }
  >();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string) => {
    const own = { index: numbers.size, low: numbers.size, open: true };
    numbers.set(path, own);
    stack.push(path);
    for (const to of edges.get(path) ?? []) {
      if (!edges.has(to)) continue;
      const other = numbers.get(to) ?? visit(to);
      if (other.open) own.low = Math.min(own.low, other.low);
    }
    if (own.low !== own.index) return own;
    const group = stack.splice(stack.indexOf(path));
    for (const member of group) {
      const known = numbers.get(member);
      if (known) known.open = false;
    }
    if (group.length > 1) cycles.push(group.sort());
    return own;
  };
  for (const path of edges.keys()) if (!numbers.has(path)) visit(path);
  return cycles.sort((a, b) => b.length - a.length);
}

async function main(): Promise<void> {
  const files = sources().filter(({ path }) => !path.startsWith("tests/"));
  const measured = await measure();
  const of = (kind: string) => measured.filter((one) => one.kind === kind);
  const numbers = (kind: string) => of(kind).map(({ number }) => number);
  const lines = files.map(({ text }) => text.split("\n").length - 1);
  const total = lines.reduce((sum, count) => sum + count, 0);
  const folders = Map.groupBy(
    files,
    ({ path }) => path.split("/").slice(0, -1).join("/"),
  );
  const fullest = [...folders].sort(([, a], [, b]) => b.length - a.length)
    .slice(0, 5);
  const depth = max(files.map(({ path }) => path.split("/").length - 1));
  const cycles = cyclesIn(files);
  const perThousand = (count: number) => (count * 1000 / total).toFixed(2);
  const casts = of("cast").filter(({ path }) => !path.startsWith("kit/")).length;
  const ignores = files.filter(({ text }) => /@ts-(ignore|expect-error|nocheck)/.test(text))
    .length;
  const longest = (kind: string) =>
    of(kind).toSorted((a, b) => b.number - a.number).slice(0, 5)
      .map(({ path, number }) => `${number} ${path}`).join(", ");
  const rows = [
    ["lines, files", `${total}, ${files.length}`],
    [
      "file p50 / p90 / max",
      [percentile(lines, 0.5), percentile(lines, 0.9), max(lines)].join(" / "),
    ],
    [
      "function p95 / max",
      `${percentile(numbers("function"), 0.95)} / ${longest("function")}`,
    ],
    ["class max", longest("class")],
    ["nesting max", longest("nesting")],
    [
      "files in a folder",
      fullest.map(([name, all]) => `${all.length} ${name || "(top)"}`).join(
        ", ",
      ),
    ],
    ["folders below the top", String(depth)],
    [
      "import cycles, types included",
      `${cycles.length}; largest ${cycles[0]?.length ?? 0} files`,
    ],
    ["any, non-null", `${of("any").length}, ${of("non-null").length}`],
    ["casts outside kit, per 1,000 lines", perThousand(casts)],
    ["ignored type errors", String(ignores)],
  ];
  const width = max(rows.map(([name = ""]) => name.length));
  for (const [name = "", value] of rows) {
    print(`${name.padEnd(width)}  ${value}`);
  }
  for (const cycle of cycles.slice(0, 3)) {
    print(`cycle: ${cycle.slice(0, 12).join(" ")}`);
  }
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) await main();
