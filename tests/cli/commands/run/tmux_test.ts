/** A tmux that does not answer ends `mesh run` with its reason, and without waiting for it. */

import assert from "node:assert/strict";
import { askTmux } from "../../../../cli/commands/run/pane.ts";
import { thisMachine } from "../../../../cli/doctor/machine.ts";
import { FakeClock } from "../../../support/clock.ts";

/** A folder with programs, each of them a shell script. */
function programs(scripts: Readonly<Record<string, string>>) {
  const folder = Deno.makeTempDirSync();
  for (const [name, script] of Object.entries(scripts)) {
    Deno.writeTextFileSync(`${folder}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return { folder, [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
}

Deno.test("a tmux server that is stopped is reported after 5 seconds", async () => {
  using bin = programs({ tmux: "exec sleep 1000" });
  const clock = new FakeClock();
  const from = clock.monotonic();
  const env = { PATH: `${bin.folder}:/usr/bin:/bin` };
  const asked = assert.rejects(askTmux(["list-sessions"], { env, clock }), /within 5 s/);
  let isDone = false;
  void asked.finally(() => isDone = true);
  await clock.advanceUntil("the refusal", () => isDone);
  await asked;
  assert.ok(clock.monotonic() - from < 10_000);
});

Deno.test("an answer of tmux and a missing answer are distinguished", async () => {
  using bin = programs({ tmux: "echo work; exit 1" });
  const clock = new FakeClock();
  const at = (PATH: string) => askTmux(["list-sessions"], { env: { PATH }, clock });
  const { code, stdout } = await at(`${bin.folder}:/usr/bin:/bin`);
  assert.deepEqual([code, stdout], [1, "work\n"]);
  await assert.rejects(at("/nowhere"), /needs tmux, which is not on the PATH/);
});

Deno.test("a program that takes 20 seconds for its version is awaited if the caller allows it", async () => {
  using bin = programs({ slow: 'while [ ! -e "$0.go" ]; do sleep 0.02; done; echo slow 1.2.3' });
  const env = { PATH: "/usr/bin:/bin" };
  for (const [ms_max, expected] of [[60_000, "slow 1.2.3"], [undefined, undefined]] as const) {
    const clock = new FakeClock();
    const run = thisMachine(env, clock, ms_max).run(`${bin.folder}/slow`, ["--version"]);
    await clock.advance(20_000);
    if (expected) Deno.writeTextFileSync(`${bin.folder}/slow.go`, "");
    assert.equal((await clock.during(run))?.output, expected);
    if (expected) Deno.removeSync(`${bin.folder}/slow.go`);
  }
});
