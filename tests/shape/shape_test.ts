import assert from "node:assert/strict";
import { readSource } from "../tidy/sources.ts";
import { figuresOf, type Measurement } from "./shape.ts";

const linesOf = (count: number) => "a();\n".repeat(count);

Deno.test("the shape's figures name each file that misses a target", () => {
  const files = [
    readSource("kit/core/long.ts", linesOf(401)),
    readSource("kit/core/short.ts", 'import { a } from "kit/data/a.ts";\n'),
    readSource("kit/data/a.ts", "// @ts-ignore\n"),
    readSource("daemon/features/asks/a/b/c/d.ts", linesOf(1)),
    ...Array.from({ length: 21 }, (_, index) => readSource(`kit/net/${index}.ts`, linesOf(1))),
  ];
  const measured: Measurement[] = [
    { path: "kit/core/long.ts", kind: "function", number: 61 },
    { path: "kit/core/long.ts", kind: "class", number: 221 },
    { path: "kit/core/long.ts", kind: "nesting", number: 5 },
    { path: "kit/core/long.ts", kind: "any", number: 1 },
    { path: "kit/core/long.ts", kind: "cast", number: 1 },
    { path: "daemon/host/a.ts", kind: "cast", number: 1 },
    { path: "kit/core/long.ts", kind: "non-null", number: 1 },
  ];
  const missed = figuresOf(files, measured).filter(({ value, target }) => value > target);
  assert.deepEqual(missed.map(({ point, name, misses }) => [point, name, misses]), [
    [4, "function lines, p95", []],
    [4, "function lines, max", ["kit/core/long.ts: 61"]],
    [4, "classes over 150 lines", ["kit/core/long.ts: 221"]],
    [4, "nesting, max", ["kit/core/long.ts: 5"]],
    [5, "files in a folder, max", ["kit/net: 21"]],
    [5, "folders of one or two files", [
      "kit/core: 2",
      "kit/data: 1",
      "daemon/features/asks/a/b/c: 1",
    ]],
    [5, "files more than 2 levels deep in a feature", [
      "daemon/features/asks/a/b/c/d.ts: 3 levels",
    ]],
    [6, "imports against the order of layers and features", [
      "kit/core/short.ts (kit/core) imports kit/data/a.ts (kit/data)",
    ]],
    [7, "any", ["kit/core/long.ts"]],
    [7, "casts outside kit per 1,000 lines", ["daemon/host/a.ts: 1"]],
    [7, "non-null assertions", ["kit/core/long.ts"]],
    [7, "ignored type errors", ["kit/data/a.ts"]],
  ]);
});

Deno.test("the percentiles of file sizes count all files", () => {
  const sizes = [100, 100, 140, 140, 310];
  const files = sizes.map((size, index) => readSource(`kit/core/${index}.ts`, linesOf(size)));
  const [p50, p90] = figuresOf(files, []);
  assert.deepEqual([p50?.value, p90?.value], [140, 310]);
});
