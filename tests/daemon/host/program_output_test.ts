import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { isNotInstalled, outputReaderOf } from "../../../daemon/host/program_output.ts";

const readOutput = outputReaderOf(systemClock);
const env = { PATH: Deno.env.get("PATH") ?? "", SEEN: "yes" };

function read(
  script: string,
  more: { bytes_max?: number; timeout_ms?: number; input?: string } = {},
) {
  const { signal } = new AbortController();
  const options = { cwd: "/", env, timeout_ms: 20_000, bytes_max: 1_000, signal, ...more };
  return readOutput(["sh", "-c", script], options);
}

const textOf = ({ bytes }: { bytes: Uint8Array }) => new TextDecoder().decode(bytes);

Deno.test("a program gets its input and only the given environment, with low priority", async () => {
  const found = await read('cat; echo "$SEEN $HOME" $(nice)', { input: "in\n" });
  assert.deepEqual([found.exit, found.ended_at, textOf(found)], [0, null, "in\nyes  10\n"]);
  assert.equal((await read("exit 3")).exit, 3);
});

Deno.test("a program that prints too much or runs too long is ended, and the beginning is kept", async () => {
  const much = await read("yes", { bytes_max: 10 });
  assert.deepEqual([much.exit, much.ended_at, textOf(much)], [null, "bytes", "y\ny\ny\ny\ny\n"]);
  const long = await read("echo begun; exec sleep 60", { timeout_ms: 300 });
  assert.deepEqual([long.exit, long.ended_at, textOf(long)], [null, "time", "begun\n"]);
});

Deno.test("a program that is missing, or no longer wanted, gives no output", async () => {
  const { signal } = new AbortController();
  const options = { cwd: "/", env, timeout_ms: 20_000, bytes_max: 10, signal };
  assert.ok(isNotInstalled(await readOutput(["no-such-program"], options)));
  const aborted = { ...options, signal: AbortSignal.abort() };
  assert.equal((await readOutput(["sh", "-c", "echo x"], aborted)).ended_at, "aborted");
});
