import assert from "node:assert/strict";
import { type TimelineEntry, type TimelineRow, toTimeline } from "protocol/derived/timeline.ts";

let position = 0;
type Given = Partial<TimelineEntry>;
const entry = (kind: TimelineEntry["kind"], text: string, given: Given = {}): TimelineEntry => ({
  position: ++position,
  at: null,
  kind,
  tool: null,
  call: null,
  outcome: null,
  text,
  chars: text.length,
  ...given,
});
const call = (tool: string, input: unknown, given: Given = {}) =>
  entry("tool_call", typeof input === "string" ? input : JSON.stringify(input), { tool, ...given });
const result = (text: string, given: Given = {}) =>
  entry("tool_result", text, { outcome: "ok", ...given });
const at = (seconds: number) => new Date(1_790_000_000_000 + seconds * 1000).toISOString();

const toText = (row: TimelineRow) => {
  if (row.kind === "reads") return row.title;
  if (row.kind !== "call") return `${row.kind}: ${row.entry.text}`;
  const { tool, argument, state, duration_ms, result } = row.call;
  return [tool, argument, state, duration_ms, result?.text ?? null];
};
const timeline = (entries: readonly TimelineEntry[], isWorking = false) =>
  toTimeline(entries, { isWorking }).map(toText);

Deno.test("each call is one row with its result, its state and its duration", () => {
  assert.deepEqual(
    timeline([
      entry("prompt", "mend it"),
      call("Bash", { command: "npm test" }, { call: "a", at: at(0) }),
      call("Edit", { file_path: "src/a.ts", old_string: "x" }, { call: "b", at: at(1) }),
      result("denied", { call: "b", outcome: "denied", at: at(3) }),
      result("2 failed", { call: "a", outcome: "failed", at: at(4.5) }),
      call("WebFetch", { url: "https://example.com" }, { call: "c" }),
      result("", { call: "c", at: at(5) }),
      entry("text", "done"),
    ]),
    [
      "prompt: mend it",
      ["Bash", "npm test", "failed", 4500, "2 failed"],
      ["Edit", "src/a.ts", "denied", 2000, "denied"],
      ["WebFetch", "https://example.com", "ok", null, ""],
      "text: done",
    ],
  );
});

Deno.test("a call without a result runs only in the turn at work", () => {
  const entries = [
    entry("prompt", "one"),
    call("Bash", { command: "sleep 1" }, { call: "a" }),
    entry("prompt", "two"),
    call("Bash", { command: "sleep 2" }, { call: "b" }),
  ];
  const states = (isWorking: boolean) =>
    timeline(entries, isWorking).flatMap((row) => Array.isArray(row) ? [row[2]] : []);
  assert.deepEqual(states(true), ["ended", "running"]);
  assert.deepEqual(states(false), ["ended", "ended"]);
});

Deno.test("calls without ids get their results in order, and a result without its call is a row", () => {
  assert.deepEqual(
    timeline([
      result("of an earlier page", { tool: "bash" }),
      call("one", {}),
      call("two", {}),
      result("1"),
      result("2"),
    ]),
    [
      ["bash", "", "ok", null, "of an earlier page"],
      ["one", "", "ok", null, "1"],
      ["two", "", "ok", null, "2"],
    ],
  );
});

Deno.test("reads and searches in a row are joined; failures and other calls are not", () => {
  const ok = (tool: string, input: unknown, outcome: TimelineEntry["outcome"] = "ok") => {
    const id = `c${position}`;
    return [call(tool, input, { call: id }), result("text", { call: id, outcome })];
  };
  assert.deepEqual(
    timeline([
      ...ok("Read", { file_path: "a" }),
      ...ok("read_file", { absolute_path: "b" }),
      ...ok("view", { path: "a" }),
      ...ok("Grep", { pattern: "x" }),
      ...ok("exec_command", { cmd: "ls -la" }),
      ...ok("shell", { command: ["bash", "-lc", "sed -n 1,20p c"] }),
      ...ok("Read", { file_path: "d" }, "failed"),
      ...ok("Read", { file_path: "e" }),
      ...ok("Bash", { command: "cat a; rm b" }),
      ...ok("Bash", { command: "rg --pre evil x" }),
    ]),
    [
      "read 3 files, searched 1 time, listed 1 folder",
      ["Read", "d", "failed", null, "text"],
      ["Read", "e", "ok", null, "text"],
      ["Bash", "cat a; rm b", "ok", null, "text"],
      ["Bash", "rg --pre evil x", "ok", null, "text"],
    ],
  );
});

Deno.test("an argument is one clean line, also of shortened and of hostile input", () => {
  const argumentOf = (input: unknown) => timeline([call("x", input)]).flat()[1];
  const cases: readonly (readonly [unknown, string])[] = [
    ['{"content":"cut off', '{"content":"cut off'],
    ['{"file_path":"a \\"b\\".ts","content":"cut o', 'a "b".ts'],
    [{ command: "echo a\n\x1b[31m\u202eb" }, "echo a [31mb"],
    [{ other: { deep: 1 }, more: "first text" }, "first text"],
    ["*** Begin Patch\n*** Update File: a.ts\n*** Add File: b.ts\n", "a.ts, b.ts"],
    ["plain input", "plain input"],
    [{ command: 5 }, ""],
  ];
  for (const [input, expected] of cases) assert.equal(argumentOf(input), expected);
  assert.equal(String(argumentOf({ command: "y".repeat(5_000) })).length, 201);
});
