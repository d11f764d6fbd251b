import assert from "node:assert/strict";
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
