/** `mesh logs`, and the size limit of the daemon's log file. */

import assert from "node:assert/strict";
import { formatInstant } from "../../../../cli/output/time.ts";
import { closeSync, openSync, writeSync } from "node:fs";
import { join as pathOf } from "node:path";
import { runCli } from "../../../../cli.ts";
import { followLines } from "../../../../cli/commands/daemon/logs.ts";
import { boundedLog } from "../../../../daemon/host/log_file.ts";
import { FakeClock } from "../../../support/clock.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";

function setup() {
  const dir = Deno.makeTempDirSync();
  const log = pathOf(dir, "daemon.log");
  return {
    log,
    write: (path: string, lines: readonly string[]) =>
      Deno.writeTextFileSync(path, lines.map((line) => `${line}\n`).join("")),
    append: (text: string) => Deno.writeTextFileSync(log, text, { append: true }),
    async logs(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const env = { MESH_CONFIG: pathOf(dir, "none"), MESH_STATE: dir };
      return { code: await runCli(["logs", ...args], env, terminal), ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

const line = (what: string, more: object = {}) =>
  JSON.stringify({ time: "2030-01-01T00:00:00.000Z", level: "warn", what, ...more });

Deno.test("logs formats log records, and prints other lines unchanged", async () => {
  using p = setup();
  const error = { name: "TypeError", message: "no such thing", stack: "…" };
  p.write(p.log, [
    line("One"),
    line("Two", { error, pid: 7, url: "http://x" }),
    "error: \u001b[31mbare",
  ]);
  const { code, out } = await p.logs("--lines", "2");
  assert.equal(code, 0);
  assert.equal(
    out,
    `${
      formatInstant("2030-01-01T00:00:00.000Z")
    } warn  Two error="TypeError: no such thing" pid=7 url=http://x\n` +
      "error: bare\n",
  );
});

Deno.test("logs --json prints each record unchanged, and another line as `what`", async () => {
  using p = setup();
  p.write(p.log, [line("One", { pid: 7 }), "bare"]);
  assert.equal((await p.logs("--json")).out, `${line("One", { pid: 7 })}\n{"what":"bare"}\n`);
});

Deno.test("logs continues with the rotated file when the log is short", async () => {
  using p = setup();
  p.write(`${p.log}.1`, ["a", "b", "c"]);
  p.write(p.log, ["d"]);
  assert.equal((await p.logs("--lines", "3")).out, "b\nc\nd\n");
  assert.equal((await p.logs("--lines", "0")).out, "");
});

Deno.test("logs without a log file exits 1 and says how to get one", async () => {
  using p = setup();
  const { code, err } = await p.logs();
  assert.deepEqual([code, /start the daemon with `mesh up`/.test(err)], [1, true]);
  assert.equal((await p.logs("--lines", "x")).code, 2);
});

Deno.test("complete lines are followed, also after the file is rotated", async () => {
  using p = setup();
  p.write(p.log, ["old"]);
  const clock = new FakeClock(), stop = new AbortController();
  const lines = followLines(p.log, 4, { clock, signal: stop.signal });
  p.append("one\ntw");
  assert.equal((await lines.next()).value, "one");
  const next = lines.next();
  await clock.settle();
  p.append("o\n");
  await clock.advance(250);
  assert.equal((await next).value, "two");
  p.write(p.log, ["new"]);
  assert.equal((await lines.next()).value, "new");
  const end = lines.next();
  stop.abort();
  assert.equal((await end).done, true);
});

Deno.test("a full log is moved to one old file, and its writer continues in a new one", () => {
  using p = setup();
  p.write(p.log, ["0123456789"]);
  const descriptor = openSync(p.log, "a", 0o600);
  try {
    const write = (bytes: Uint8Array) => void writeSync(descriptor, bytes);
    const log = boundedLog(p.log, { bytes_max: 30, descriptor, write });
    for (const text of ["first line", "second line", "third line", "fourth line"]) log(text);
  } finally {
    closeSync(descriptor);
  }
  assert.equal(Deno.readTextFileSync(p.log), "fourth line\n");
  assert.equal(Deno.readTextFileSync(`${p.log}.1`), "second line\nthird line\n");
  assert.equal((Deno.statSync(`${p.log}.1`).mode ?? 0) & 0o777, 0o600);
});

Deno.test("a log file is not rotated when the output goes elsewhere", () => {
  using p = setup();
  p.write(p.log, ["another daemon's"]);
  const written: string[] = [];
  const write = (bytes: Uint8Array) => void written.push(new TextDecoder().decode(bytes));
  const elsewhere = openSync("/dev/null", "a");
  try {
    const log = boundedLog(p.log, { bytes_max: 10, descriptor: elsewhere, write });
    for (const text of ["a long first line", "a long second line"]) log(text);
  } finally {
    closeSync(elsewhere);
  }
  assert.equal(Deno.readTextFileSync(p.log), "another daemon's\n");
  assert.equal(written.length, 2);
});
