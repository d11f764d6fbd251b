/** The doctor's check of kitty: what it says of each kitty around it, and that it needs none. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import { FakeKitty, pack, refusalOf } from "../../support/host/fake_kitty.ts";
import { KITTY } from "../../../cli/doctor/terminals.ts";

async function findings(env: Record<string, string>): Promise<string[]> {
  const machine = thisMachine(env, systemClock);
  const found = await KITTY.run(machine, { configErrors: [] });
  return found.map(([severity, code]) => `${severity} ${code}`);
}

Deno.test("the doctor says whether this kitty allows what mesh needs", async () => {
  await using fake = new FakeKitty();
  const inside = { TERM: "xterm-kitty", KITTY_WINDOW_ID: "3" };
  const listens = { ...inside, KITTY_LISTEN_ON: `unix:${fake.socket}` };
  fake.answer = () => pack('{"ok":true,"data":"[]"}');
  assert.deepEqual(await findings(listens), ["ok KITTY_WORKS"]);
  fake.answer = () => refusalOf("Remote control is disabled");
  assert.deepEqual(await findings(listens), ["warning KITTY_REFUSES"]);
  Deno.chmodSync(fake.dir, 0o777);
  assert.deepEqual(await findings(listens), ["warning KITTY_UNTRUSTED"]);
  assert.deepEqual(await findings(inside), ["note KITTY_CLOSED"]);
  assert.deepEqual(await findings({ ...inside, KITTY_LISTEN_ON: "unix:@kitty" }), [
    "note KITTY_CLOSED",
  ]);
});

Deno.test("the doctor reports on kitty only directly in a kitty, not in a tmux inside it", async () => {
  const tmux = { TMUX: "/missing/tmux,1,0", TMUX_PANE: "%1", TERM: "tmux-256color" };
  assert.deepEqual(await findings({}), []);
  assert.deepEqual(await findings({ ...tmux, KITTY_WINDOW_ID: "3" }), []);
});
