import assert from "node:assert/strict";
import { type Batch, batchesOf, testFiles } from "./batches.ts";
import { DefaultPort } from "./default_port.ts";
import { runInLanes } from "./lanes.ts";
import { until } from "../support/waiting.ts";
import { readTime, slowest, type TestTimes } from "./times.ts";

const ROOT = `${import.meta.dirname}/../..`;
const read = (file: string) => Deno.readTextFileSync(`${ROOT}/${file}`);

Deno.test("every test file is in exactly one batch", () => {
  const files = testFiles(ROOT);
  assert.ok(files.includes("tests/runner/runner_test.ts"));
  const found = batchesOf(files, read).flatMap(({ files }) => files);
  assert.deepEqual(found.toSorted(), files.toSorted());
});

Deno.test("files that start agents other than Claude Code are in exclusive batches", () => {
  const batches = batchesOf(testFiles(ROOT), read);
  const exclusives = batches.flatMap(({ files, exclusive }) => exclusive ? files : []);
  const agents = ["codex", "copilot", "gemini", "jobs", "opencode", "selftest"];
  for (const file of agents.map((name) => `tests/e2e/agents/${name}_test.ts`)) {
    assert.ok(exclusives.includes(file), file);
  }
  for (
    const file of [
      "daemon/features/asks/asks_test.ts",
      "daemon/host/tmux/tmux_test.ts",
      "crash/jobs_test.ts",
      "e2e/agents/claude_ask_test.ts",
      "e2e/daemon/daemon_process_test.ts",
      "e2e/relay/tunnel_test.ts",
    ]
  ) {
    assert.ok(!exclusives.includes(`tests/${file}`), file);
  }
});

const batch = (name: string, exclusive = false): Batch => ({ files: [name], exclusive });

/** Runs batches that end when the test ends them. */
function lanes(batches: readonly Batch[], count: number) {
  const running = new Map<string, { end: () => void; line: (text: string) => void }>();
  const printed: string[] = [];
  const done = runInLanes(batches, {
    lanes: count,
    print: (line) => printed.push(line),
    run: async ({ files: [name = ""] }, line) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(name, { end: resolve, line });
      await promise;
      running.delete(name);
      return name;
    },
  });
  const end = async (name: string) => {
    running.get(name)?.end();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const printLine = (name: string, text: string) => running.get(name)?.line(text);
  return { done, end, printLine, printed, running: () => [...running.keys()] };
}

Deno.test("an exclusive batch does not run beside another exclusive batch", async () => {
  const at = lanes([batch("a", true), batch("b", true), batch("c"), batch("d")], 2);
  assert.deepEqual(at.running(), ["a", "c"]);
  await at.end("c");
  assert.deepEqual(at.running(), ["a", "d"]);
  await at.end("a");
  assert.deepEqual(at.running(), ["d", "b"]);
  await at.end("d");
  await at.end("b");
  assert.deepEqual(await at.done, ["c", "a", "d", "b"]);
});

Deno.test("the exclusive batches that are left run one after the other", async () => {
  const at = lanes([batch("a", true), batch("b", true)], 2);
  assert.deepEqual(at.running(), ["a"]);
  await at.end("a");
  assert.deepEqual(at.running(), ["b"]);
  await at.end("b");
  assert.deepEqual(await at.done, ["a", "b"]);
});

Deno.test("the lines of batches are complete and not mixed", async () => {
  const at = lanes([batch("a"), batch("b"), batch("c")], 2);
  at.printLine("b", "b1");
  at.printLine("a", "a1");
  assert.deepEqual(at.printed, ["a1"]);
  await at.end("b");
  at.printLine("c", "c1");
  at.printLine("a", "a2");
  assert.deepEqual(at.printed, ["a1", "a2"]);
  await at.end("a");
  assert.deepEqual(at.printed, ["a1", "a2", "b1", "c1"]);
  at.printLine("c", "c2");
  await at.end("c");
  await at.done;
  assert.deepEqual(at.printed, ["a1", "a2", "b1", "c1", "c2"]);
});

Deno.test("a caller of the default port is named while the tests run, and no daemon starts there", async () => {
  using held = new DefaultPort(0);
  assert.deepEqual([held.callers, held.isTaken], [[], false]);
  const code = `await fetch("http://127.0.0.1:${held.port}").catch(() => 0)`;
  const child = new Deno.Command(Deno.execPath(), { args: ["eval", code] });
  await child.output();
  await until("the caller", () => held.callers.length > 0);
  if (Deno.build.os === "linux") assert.ok(held.callers[0]?.includes(code), held.callers[0]);
  using second = new DefaultPort(held.port);
  assert.equal(second.isTaken, true);
});

Deno.test("the slowest tests of all processes come first", () => {
  const [first, second]: [TestTimes, TestTimes] = [new Map(), new Map()];
  const output = [
    "running 2 tests from ../tmp/batch_test.ts",
    "it waits ... ok (1m2s)",
    "it says something ...",
    "------- output -------",
    "it fails ... FAILED (500ms)",
    "it is quick ... ok (80µs)",
  ];
  for (const line of output) readTime(first, line);
  readTime(second, "it takes a second ... ok (1s)");
  assert.deepEqual(slowest([first, second], 2), [
    "   62.0 s  it waits",
    "    1.0 s  it takes a second",
  ]);
});
