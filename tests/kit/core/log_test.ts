/** The log: one JSON object per line, without secrets. */

import assert from "node:assert/strict";
import { jsonLog, logConsole } from "kit/core/log.ts";
import { FakeClock } from "../../support/clock.ts";

function capturedLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    assert.ok(!line.includes("\n"), "one line per entry");
    lines.push(JSON.parse(line));
  };
  return { lines, log: jsonLog(new FakeClock(), "info", write) };
}

Deno.test("a line has time, level, message and fields", () => {
  const { lines, log } = capturedLog();
  log.warn("Cannot reach the relay", { attempt: 3, why: "two\nlines" });
  assert.deepEqual(lines, [{
    time: "2030-01-01T00:00:00.000Z",
    level: "warn",
    what: "Cannot reach the relay",
    attempt: 3,
    why: "two\nlines",
  }]);
});

Deno.test("entries below the minimum level are not written", () => {
  const { lines, log } = capturedLog();
  log.debug("Too quiet");
  for (const level of ["info", "warn", "error"] as const) log[level]("Told");
  assert.deepEqual(lines.map(({ level }) => level), ["info", "warn", "error"]);
});

Deno.test("secrets and texts are hidden, at any depth and in any spelling", () => {
  const { lines, log } = capturedLog();
  const secret = "s3cr3t";
  const names = ["auth_token", "refreshToken", "client_secret", "PASSWORD", "Authorization"];
  const fields = Object.fromEntries(
    [...names, "text", "birth_certificate", "code_verifier"].map((name) => [name, secret]),
  );
  log.info("Told", { ...fields, deep: [{ ...fields }], context: "of the text" });
  assert.ok(!JSON.stringify(lines).includes(secret));
  assert.equal(lines[0]?.["context"], "of the text");
});

Deno.test("an error is written with its cause and its stack", () => {
  const { lines, log } = capturedLog();
  log.error("A route failed", { error: new Error("outer", { cause: new TypeError("inner") }) });
  const error = lines[0]?.["error"] as { message: string; stack: string; cause: unknown };
  assert.equal(error.message, "outer");
  assert.match(error.stack, /log_test\.ts/);
  assert.deepEqual((error.cause as { name: string }).name, "TypeError");
});

Deno.test("a line that cannot be written fails nothing, and the next one counts it", () => {
  const lines: string[] = [];
  let isFull = true;
  const log = jsonLog(new FakeClock(), "info", (line) => {
    if (isFull) throw new Error("No space left on device");
    lines.push(line);
  });
  log.error("Lost");
  log.error("Lost, too");
  isFull = false;
  log.info("Written");
  log.info("Later");
  const written = lines.map((line) => JSON.parse(line));
  assert.deepEqual(written.map(({ what, lost_lines }) => [what, lost_lines]), [
    ["Written", 2],
    ["Later", undefined],
  ]);
});

Deno.test("console output of a library is a line of the log, while the console is captured", () => {
  const { lines, log } = capturedLog();
  const { console: library } = globalThis;
  const { warn, error } = library;
  {
    using _console = logConsole(log);
    library.warn("drops notifications", 2);
    library.error(new TypeError("two\nlines"));
  }
  assert.deepEqual(
    lines.map(({ level, output }) => [level, output]),
    [["warn", "drops notifications 2"], ["error", "TypeError: two\nlines"]],
  );
  assert.deepEqual([library.warn, library.error], [warn, error]);
});
