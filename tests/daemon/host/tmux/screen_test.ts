/** The screen of a pane together with the pane's record, from a real tmux. */

import assert from "node:assert/strict";
import { until, withTmux } from "../../../support/host/private_tmux.ts";

withTmux(
  "screen() returns the rows with their colours, and the pane of the same moment",
  async (t) => {
    const pane_id = t.start(String.raw`printf '\033[31mred\033[0m\nnext'; exec cat`);
    await until("the text", () => t.screen(pane_id).includes("next"));
    const read = await t.tmux.screen(pane_id);
    assert.ok(read.ok && read.seen);
    const { pane, rows } = read.seen;
    assert.equal(rows.length, 30);
    assert.deepEqual(rows.slice(0, 2), ["\x1b[31mred", "\x1b[39mnext"]);
    assert.deepEqual([pane.pane_id, pane.width, pane.height], [pane_id, 100, 30]);
    assert.deepEqual([pane.cursor_x, pane.cursor_y, pane.cursor_shown], [4, 1, true]);
    assert.equal(String(pane.pane_pid), t.format(pane_id, "#{pane_pid}"));
  },
);

withTmux("screen() shows no other pane for a missing one, and no forged record", async (t) => {
  const forged = "%%1\t1\t0\t0\t80\t24\t0\t0\t1\t0\t@1\twork\tsh\t/";
  const pane_id = t.start(`printf '${forged}\nlast'; exec cat`);
  await until("the text", () => t.screen(pane_id).includes("last"));
  const read = await t.tmux.screen(pane_id);
  assert.ok(read.ok && read.seen?.pane.pane_id === pane_id);
  assert.equal(read.seen.rows.length, 30);
  for (const other of ["work", "%", "{last}"]) {
    assert.deepEqual(await t.tmux.screen(other), { ok: true, seen: undefined }, other);
  }
  const gone = await t.tmux.screen("%999");
  assert.ok(gone.ok ? gone.seen === undefined : gone.reason === "error");
});
