/** `GET /asks/history`: closed asks of a peer. */

import assert from "node:assert/strict";
import { type World, world } from "../../../support/world.ts";
import { addPeer, ask, get, post } from "../../../support/daemon/peer_clients.ts";
import { copyMessage } from "../../../support/daemon/message_log.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";

const LONG_AGO = "2000-01-01T00:00:00Z";

const at = (w: World) => encodeURIComponent(new Date(w.clock.now()).toISOString());

interface Thread {
  readonly correlation_id: string;
}

async function threads(w: World, query: string): Promise<string[]> {
  const { threads } = await get(w, `/asks/history?${query}`);
  return threads.map(({ correlation_id }: Thread) => correlation_id);
}

/** Opens an ask and closes it a second later. */
async function closeNewAsk(w: World, from: string, to: string): Promise<string> {
  const correlation_id = await ask(w, from, to);
  await w.clock.advance(1000);
  await post(w, "/ack", { correlation_id });
  return correlation_id;
}

Deno.test("history lists the closed asks of a peer, as asker and as recipient [4.asks.history] [4.asks.history-session]", async () => {
  await using w = world();
  const ada = await addPeer(w, "ada");
  const bob = await addPeer(w, "bob");
  await addPeer(w, "eve");
  const opened_at = new Date(w.clock.now()).toISOString();
  const asked = await closeNewAsk(w, "ada", "bob");
  const was_asked = await ask(w, "a-stranger", "ada");
  await post(w, "/decline", { correlation_id: was_asked, reason: "Busy" });
  await ask(w, "ada", "bob");
  await closeNewAsk(w, "eve", "bob");
  const { threads, mesh_session_id } = await get(w, `/asks/history?peer_id=ada&since=${LONG_AGO}`);
  assert.equal(mesh_session_id, ada.mesh_session_id);
  const closed_at = new Date(Date.parse(opened_at) + 1000).toISOString();
  assert.deepEqual(threads, [
    {
      correlation_id: asked,
      role: "asker",
      other: "bob",
      other_peer_id: bob.peer_id,
      close_reason: "ack",
      opened_at,
      closed_at,
    },
    {
      correlation_id: was_asked,
      role: "recipient",
      other: "a-stranger",
      other_peer_id: null,
      close_reason: "declined",
      opened_at: closed_at,
      closed_at,
    },
  ]);
});

Deno.test("history starts after `since`, in any UTC offset", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const first = await closeNewAsk(w, "ada", "bob");
  const since = at(w);
  const second = await closeNewAsk(w, "ada", "bob");
  assert.deepEqual(await threads(w, `peer_id=bob&since=${LONG_AGO}`), [first, second]);
  assert.deepEqual(await threads(w, `peer_id=bob&since=${since}`), [second]);
  const there = new Date(w.clock.now() - 1000 + 2 * 3_600_000).toISOString().replace("Z", "");
  for (const plus of ["%2B", "+"]) {
    assert.deepEqual(await threads(w, `peer_id=bob&since=${there}${plus}02:00`), [second]);
  }
  assert.deepEqual(await threads(w, `peer_id=bob&since=${at(w)}`), []);
});

Deno.test("history needs exactly one of peer and pane, and an instant [4.asks.history-pane] [c3.history.one-of]", async () => {
  await using w = world();
  await addPeer(w, "bob", { pane_id: "%3", tmux_socket: "/missing/one" });
  await addPeer(w, "eve", { pane_id: "%3", tmux_socket: "/missing/two" });
  const first = await closeNewAsk(w, "ada", "bob");
  const second = await closeNewAsk(w, "ada", "eve");
  const queries = [
    `since=${LONG_AGO}`,
    `peer_id=bob&pane_id=%253&since=${LONG_AGO}`,
    "peer_id=bob",
    "peer_id=bob&since=",
    "peer_id=bob&since=yesterday",
    "peer_id=bob&since=2030-01-01",
    "peer_id=bob&since=2030-01-01T00:00:00",
  ];
  for (const query of queries) {
    const { status, error } = await get(w, `/asks/history?${query}`);
    assert.deepEqual([status, error], [422, "invalid_request"], query);
  }
  for (const [socket, id] of [["/missing/one", first], ["/missing/two", second]]) {
    const query = `pane_id=%253&tmux_socket=${socket}&since=${LONG_AGO}`;
    assert.deepEqual(await threads(w, query), [id]);
  }
  const lost = await get(w, `/asks/history?peer_id=nobody&since=${LONG_AGO}`);
  assert.deepEqual([lost.status, lost.error], [404, "unknown_peer"]);
  const bare = await get(w, `/asks/history?pane_id=%259&since=${LONG_AGO}`);
  assert.deepEqual([bare.status, bare.error], [404, "no_pane_peer"]);
});

Deno.test("history includes offline and retired peers, and survives a restart [4.asks.history-durable]", async () => {
  using at = restartableWorld();
  let w = at.start();
  const [bob, eve, tom] = [
    await addPeer(w, "bob"),
    await addPeer(w, "eve"),
    await addPeer(w, "tom"),
  ];
  const other = await closeNewAsk(w, "tom", "bob");
  const id = await closeNewAsk(w, "bob", "eve");
  await w[Symbol.asyncDispose]();
  w = at.start();
  await post(w, "/peers/eve/offline", { terminal: true });
  for (const peer of ["bob", bob.peer_id, eve.peer_id]) {
    const found = await threads(w, `peer_id=${peer}&since=${LONG_AGO}`);
    assert.deepEqual(found.filter((thread) => thread !== other), [id]);
  }
  await post(w, "/peer/unregister", { peer_id: "tom" });
  assert.deepEqual(await threads(w, `peer_id=${tom.peer_id}&since=${LONG_AGO}`), [other]);
  await w.fetch(`/peers/${eve.peer_id}`, { method: "DELETE" });
  assert.deepEqual(await threads(w, `peer_id=${eve.peer_id}&since=${LONG_AGO}`), [id]);
  await w[Symbol.asyncDispose]();
});

Deno.test("history returns a thousand asks at a time, and continues from the last", async () => {
  await using w = world({
    settings: { "daemon.queue.max_per_peer": "5000", "daemon.limits.pair_per_minute": "0" },
  });
  await addPeer(w, "bob");
  const { daemon } = w;
  const requestContext = { proven_human: false };
  for (let number = 0; number < 1200; number++) {
    const asking = {
      from_peer: "ada",
      to_peer: "bob",
      text: "Hi",
      reply_delivery: "push" as const,
    };
    const { ticket } = daemon.asks.open(asking, requestContext);
    daemon.asks.ack({ correlation_id: ticket?.message.correlation_id ?? "" }, requestContext);
    if (number === 500) await w.clock.advance(1);
  }
  const all = await threads(w, `peer_id=bob&since=${LONG_AGO}`);
  assert.equal(all.length, 1200, "Asks that were closed in the same instant are on one page");
  await w.clock.advance(5);
  const next = await closeNewAsk(w, "ada", "bob");
  const first = await get(w, `/asks/history?peer_id=bob&since=${LONG_AGO}`);
  assert.equal(first.threads.length, 1200);
  const since = encodeURIComponent(first.threads.at(-1).closed_at);
  assert.deepEqual(await threads(w, `peer_id=bob&since=${since}`), [next]);
});

Deno.test("a history finds the few asks of a peer among many, and lets other requests run", async () => {
  await using w = world();
  for (const name of ["ada", "eve", "mary"]) await addPeer(w, name);
  await closeNewAsk(w, "eve", "mary");
  const own = [await closeNewAsk(w, "ada", "eve"), await closeNewAsk(w, "mary", "ada")];
  copyMessage(w, 7000);
  const { db } = w.daemon.ctx;
  const spread = "update messages set closed_at = closed_at + iif(seq <= 5, 9000 + seq, seq)";
  db.transactNow((tx) => tx.run(spread));
  let finished = false;
  const history = threads(w, `peer_id=ada&since=${LONG_AGO}`).finally(() => finished = true);
  const page = get(w, "/asks?state=closed&peer_id=ada");
  assert.equal((await get(w, "/health")).status, "ok");
  assert.equal(finished, false);
  while (!finished) await w.clock.advance(0);
  assert.deepEqual(await history, own);
  const listed = (await page).asks.map(({ correlation_id }: Thread) => correlation_id);
  assert.deepEqual(listed, own.toReversed());
});

Deno.test("a history holds a thousand threads, and all of the last one's instant", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "mary");
  await closeNewAsk(w, "ada", "mary");
  copyMessage(w, 5000);
  const { db } = w.daemon.ctx;
  const spread =
    "update messages set closed_at = closed_at + iif(seq between 990 and 1010, 990, seq)";
  db.transactNow((tx) => tx.run(spread));
  const { threads } = await get(w, `/asks/history?peer_id=ada&since=${LONG_AGO}`);
  assert.equal(threads.length, 1009); // The second row is an ack.
});
