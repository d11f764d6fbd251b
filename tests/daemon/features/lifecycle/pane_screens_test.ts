/** The screen of a peer's pane: shown only where the pane is proved to be the peer's. */

import assert from "node:assert/strict";
import {
  COLUMNS_MAX,
  ROW_CHARS_MAX,
  ROWS_MAX,
} from "../../../../daemon/features/lifecycle/panes.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { FakePanes, SOCKET } from "../../../support/host/fake_panes.ts";

const PANE = { pane_id: "%3", tmux_socket: SOCKET };
const RED = "\x1b[31mred\x1b[39m";

/** A peer in pane %3 as process 7; `proved` says whether that process registered it. */
async function fixture({ proved = true } = {}) {
  const [paneObserver, sockets] = [new FakePanes(), new FakeSockets()];
  const w = world({ paneObserver, sockets });
  paneObserver.rows = [RED, "", "last"];
  paneObserver.open("%3", { width: 100, height: 30, cursor_x: 4, cursor_y: 2 });
  paneObserver.within.set("%3", 7);
  w.processes.start(7);
  if (!proved) sockets.holders = [];
  const { peer_id } = await addPeer(w, "ada", { ...PANE, agent_pid: 7 });
  return { w, paneObserver, peer_id, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

async function refusal(w: World, peer: string) {
  const { status, error, reason } = await get(w, `/peers/${peer}/pane`);
  return [status, error, reason];
}

Deno.test("GET /peers/:id/pane returns the screen with its colours and its cursor", async () => {
  await using at = await fixture();
  const shown = await get(at.w, "/peers/ada/pane");
  assert.deepEqual(shown, {
    status: 200,
    peer_id: at.peer_id,
    pane_id: "%3",
    width: 100,
    height: 30,
    cursor: { x: 4, y: 2 },
    in_mode: false,
    rows: [RED, "", "last"],
  });
});

Deno.test("a cursor that the program hides has no place", async () => {
  await using at = await fixture();
  at.paneObserver.close("%3");
  at.paneObserver.open("%3", { cursor_shown: false });
  assert.equal((await get(at.w, "/peers/ada/pane")).cursor, null);
});

Deno.test("the screen of a pane that another program named is refused", async () => {
  await using at = await fixture({ proved: false });
  const reason = "its process was named by another program";
  assert.deepEqual(await refusal(at.w, "ada"), [409, "pane_unverified", reason]);
});

Deno.test("the screen of a pane is refused once another process runs there", async () => {
  await using at = await fixture();
  at.paneObserver.within.set("%3", 8);
  const elsewhere = "its process runs elsewhere";
  assert.deepEqual(await refusal(at.w, "ada"), [409, "pane_unverified", elsewhere]);
  at.paneObserver.within.set("%3", 7);
  at.w.processes.end(7);
  at.w.processes.start(7);
  assert.deepEqual(await refusal(at.w, "ada"), [409, "pane_unverified", "its process has ended"]);
});

Deno.test("a peer without a pane, of another machine or retired shows no screen", async () => {
  await using at = await fixture();
  const { w } = at;
  await addPeer(w, "bare");
  assert.deepEqual((await refusal(w, "bare")).slice(0, 2), [409, "missing_pane"]);
  await addPeer(w, "far", { ...PANE, machine: "elsewhere" });
  assert.deepEqual((await refusal(w, "far")).slice(0, 2), [409, "other_host"]);
  at.paneObserver.reachable = false;
  assert.match(String((await refusal(w, "ada"))[2]), /tmux does not answer/);
  at.paneObserver.reachable = true;
  at.paneObserver.close("%3");
  assert.deepEqual((await refusal(w, "ada")).slice(0, 2), [409, "missing_pane"]);
  await post(w, "/peers/ada/offline", { terminal: true });
  assert.deepEqual((await refusal(w, at.peer_id)).slice(0, 2), [409, "peer_retired"]);
  assert.deepEqual((await refusal(w, "nobody")).slice(0, 2), [404, "unknown_peer"]);
});

Deno.test("a screen has a limit of rows, and a row has a limit of characters", async () => {
  await using at = await fixture();
  const coloured = `\x1b[31m${"x".repeat(ROW_CHARS_MAX)}`;
  at.paneObserver.rows = [coloured, ...Array.from({ length: ROWS_MAX }, () => "row")];
  const { rows } = await get(at.w, "/peers/ada/pane");
  assert.equal(rows.length, ROWS_MAX);
  assert.equal(rows[0], "x".repeat(COLUMNS_MAX));
  assert.equal(rows[1], "row");
});
