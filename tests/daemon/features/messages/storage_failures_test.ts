/** Requests during which a statement fails: a refused one changes nothing, and none loses more. */

import assert from "node:assert/strict";
import * as z from "zod";
import { addPeer, connectPeer, post } from "../../../support/daemon/peer_clients.ts";
import { sleepingWorld } from "../../../support/daemon/wakes.ts";
import { type ArmedFault, SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { type World, world } from "../../../support/world.ts";

const FULL = { fault: "full", at: "any" } as const;

function notify(w: World, text: string): Promise<Response> {
  return w.post("/notify", { from_peer: "cli", to_peer: "api", text });
}

/** Opens an ask and waits for its answer; returns its id. */
async function openAsk(w: World): Promise<string> {
  const body = { from_peer: "cli", to_peer: "api", text: "why?", reply_delivery: "pull" };
  return (await (await w.post("/ask", body)).json()).correlation_id;
}

async function isClosed(w: World, correlation_id: string): Promise<boolean> {
  return (await (await w.fetch(`/asks/${correlation_id}`)).json()).state === "closed";
}

/** Answers two asks in one turn, while one statement fails; returns whether one did. */
async function answerTwo(w: World, faults: SqliteFaults, fault: ArmedFault): Promise<boolean> {
  const asks = [await openAsk(w), await openAsk(w)];
  faults.arm(fault);
  const answer = (correlation_id: string) => w.post("/ack", { correlation_id, message: "because" });
  const answers = await Promise.all(asks.map(answer));
  faults.disarm();
  for (const [index, id] of asks.entries()) {
    const told = `answer ${index + 1} with statement ${fault.after}`;
    assert.equal(await isClosed(w, id), answers[index]?.status === 200, told);
  }
  const { hit } = faults;
  faults.reset();
  return hit;
}

for (const endsTransaction of [true, false]) {
  const what = endsTransaction ? "ends the transaction" : "leaves the transaction open";
  Deno.test(`whichever statement of a turn fails, and SQLite ${what}: accepted messages are stored, and refused ones are not`, async () => {
    using faults = new SqliteFaults();
    await using w = world();
    await w.post("/peers", { name: "api", path: "/work", backend: "sdk" });
    let after = 0;
    while (await answerTwo(w, faults, { ...FULL, after, endsTransaction })) after++;
    assert.ok(after > 5, `${after} statements`);
  });
}

Deno.test("a frame that was sent is marked as sent at the next tick if the database is locked at first", async () => {
  using faults = new SqliteFaults();
  await using w = world();
  await w.socket().connect({ display_name: "api" });
  faults.arm({ fault: "busy", at: "begin", after: 1, endsTransaction: false });
  const { delivery_id } = await (await notify(w, "hello")).json();
  await w.clock.settle();
  assert.ok(faults.hit);
  const stateOf = async () => {
    const { stages } = await (await w.fetch(`/traces/${delivery_id}`)).json();
    return stages.at(-1).stage;
  };
  assert.equal(await stateOf(), "attempting");
  await w.tick();
  assert.equal(await stateOf(), "sent");
});

/** The rows of peers, messages and events. */
function rowsOf({ daemon: { ctx: { db } } }: World): unknown {
  return ["peers", "messages", "events"].map((table) =>
    db.all(z.unknown(), `select * from ${table}`)
  );
}

/** Sends a request while a statement fails, until none does; a refused one has changed nothing. */
async function checkEachStatement(w: World, send: () => Promise<Response>): Promise<void> {
  using faults = new SqliteFaults();
  const statuses = new Set<number>();
  for (let after = 0; !statuses.has(200) || faults.hit; after++) {
    await w.tick(); // Finds that the database can be written again.
    const before = rowsOf(w);
    faults.reset();
    faults.arm({ fault: "io_error", at: "any", after, endsTransaction: false });
    const { status } = await send();
    faults.disarm();
    await w.clock.settle();
    statuses.add(status);
    if (status === 200) assert.notDeepEqual(rowsOf(w), before, `statement ${after}: not stored`);
    else {assert.deepEqual(
        rowsOf(w),
        before,
        `statement ${after}: refused with ${status}, but done`,
      );}
  }
  assert.ok(statuses.has(503));
}

Deno.test("whichever statement of a rename or an edit of a peer fails: what is refused has changed nothing", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "api");
  let count = 0;
  const edit = (path: string, method: string, field: string) => () =>
    w.fetch(`/peers/${peer_id}${path}`, {
      method,
      body: JSON.stringify({ [field]: `api-${++count}` }),
    });
  await checkEachStatement(w, edit("/name", "POST", "name"));
  await checkEachStatement(w, edit("", "PATCH", "description"));
});

Deno.test("whichever statement of an ask to an ended agent fails: what is refused has changed nothing", async () => {
  await using fixture = await sleepingWorld({ settings: { "daemon.wake": "never" } });
  const { w } = fixture;
  await addPeer(w, "web");
  const body = { from_peer: "web", to_peer: "api", text: "Ready?" };
  await checkEachStatement(w, () => w.post("/ask", body));
  let key = 0;
  const headers = () => ({ "idempotency-key": `key-${++key}` });
  await checkEachStatement(w, () => w.post("/ask", body, headers()));
});

Deno.test("an ask is accepted although the decision about its recipient's wake cannot be stored", async () => {
  using faults = new SqliteFaults();
  await using fixture = await sleepingWorld({ settings: { "daemon.wake": "always" } });
  const { w } = fixture;
  await addPeer(w, "web");
  faults.arm({ fault: "full", at: "commit", after: 1, endsTransaction: true });
  const asked = await post(w, "/ask", { from_peer: "web", to_peer: "api", text: "Ready?" });
  assert.deepEqual([faults.hit, asked.delivery_state], [true, "queued"]);
  const { state } = await (await w.fetch(`/asks/${asked.correlation_id}`)).json();
  assert.equal(state, "open");
});

Deno.test("whichever statement fails during a verb of a socket: a refused one has stored no message, and an accepted one has", async () => {
  using faults = new SqliteFaults();
  await using w = world();
  const web = await connectPeer(w, "web");
  await connectPeer(w, "api");
  const texts = () => w.daemon.ctx.db.values(z.string(), "select text from messages");
  for (let after = 0, hit = true; hit; after++) {
    await w.tick();
    faults.reset();
    faults.arm({ fault: "io_error", at: "any", after, endsTransaction: false });
    const text = `Message ${after}`;
    await web.send({ type: "notify", request_id: text, to_peer: "api", text });
    await w.clock.settle();
    faults.disarm();
    hit = faults.hit;
    const result = web.of("result").find(({ request_id }) => request_id === text);
    assert.equal(texts().includes(text), !("error" in (result ?? {})), JSON.stringify(result));
  }
});

Deno.test("a commit that fails after that of a socket's verb does not refuse the verb", async () => {
  using faults = new SqliteFaults();
  await using w = world();
  const { db, events } = w.daemon.ctx;
  const web = await connectPeer(w, "web");
  await connectPeer(w, "api");
  let writes = 0;
  events.subscribe({ event: () => void (faults.hit || db.transact(() => void writes++)) });
  faults.arm({ fault: "full", at: "commit", after: 1, endsTransaction: true });
  await web.send({ type: "notify", request_id: "a", to_peer: "api", text: "Hello" });
  await w.clock.settle();
  assert.deepEqual([faults.hit, writes > 0], [true, true]);
  assert.equal("error" in (web.of("result")[0] ?? {}), false);
});
