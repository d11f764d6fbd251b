/** Messages between two machines after the sender's database was restored from a backup. */

import assert from "node:assert/strict";
import { cancelAsk } from "protocol/asks/contract.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { startAskBlocking } from "../../../support/daemon/blocking_questions.ts";
import { TERMINAL_PROGRAM_PID } from "../../../support/world.ts";
import { restorableMachines } from "../../../support/machines/restored_machines.ts";

const NUMBERS = Array.from({ length: 5 }, (_, index) => index);

Deno.test("after the sender was restored, each new message arrives and has a new id", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("laptop");
  const lost: string[] = [];
  for (const n of NUMBERS) lost.push(await mesh.notify("laptop", `A${n}`));
  lost.push(await mesh.ask("laptop", "AQ"));
  await mesh.pass(2);
  await mesh.restore("laptop");
  const sent: string[] = [];
  for (const n of NUMBERS) sent.push(await mesh.notify("laptop", `B${n}`));
  const asked = await mesh.ask("laptop", "BQ");
  await mesh.pass(2);
  assert.deepEqual(sent.filter((id) => lost.includes(id)), []);
  assert.deepEqual(mesh.got("buildbox", "notify"), [
    ...NUMBERS.map((n) => `A${n}`),
    ...NUMBERS.map((n) => `B${n}`),
  ]);
  // laptop has lost the ask. Its answer closes no other ask, and the peer that answered is
  // notified.
  await mesh.answer("buildbox", "AQ", "for the lost ask");
  await mesh.pass(2);
  assert.equal((await mesh.readAsk("laptop", asked)).state, "open");
  assert.match(mesh.machine("buildbox").socket.of("notify").at(-1)?.text ?? "", /not delivered/);
  assert.match(
    await mesh.stages(
      "buildbox",
      mesh.machine("buildbox").socket.of("ask")[0]?.correlation_id ?? "",
    ),
    /answer_refused .*no such ask/,
  );
  await mesh.answer("buildbox", "BQ", "for the new one");
  await mesh.pass(2);
  assert.equal((await mesh.readAsk("laptop", asked)).reply, "for the new one");
});

Deno.test("an id of another message is refused, reported to the sender, and never confirmed [c11.ids.reused]", async () => {
  await using mesh = await restorableMachines({ repeatsNumbers: true });
  await mesh.backUp("laptop");
  const old = [await mesh.notify("laptop", "A"), await mesh.ask("laptop", "AQ")];
  await mesh.pass(2);
  await mesh.restore("laptop");
  const again = [await mesh.notify("laptop", "B"), await mesh.ask("laptop", "BQ")];
  assert.deepEqual(again, old, "as daemons did that skip no numbers");
  await mesh.pass(2);
  for (const id of again) assert.equal(await mesh.stateOf("laptop", id), "failed id_reused");
  assert.deepEqual(mesh.got("buildbox", "notify"), ["A"]);
  assert.deepEqual(mesh.got("buildbox", "ask"), ["AQ"]);
  // A third ask has the id of none, and the answer to the lost one closes no ask.
  const third = await mesh.ask("laptop", "CQ");
  await mesh.answer("buildbox", "AQ", "old");
  await mesh.pass(2);
  assert.equal((await mesh.readAsk("laptop", third)).state, "open");
  assert.equal((await mesh.readAsk("laptop", again[1] ?? "")).close_reason, "send_failed");
});

Deno.test("an ask that its restored sender shows as open is closed there, although a new one came first", async () => {
  await using mesh = await restorableMachines();
  const id = await mesh.ask("laptop", "AQ");
  await mesh.pass(2);
  await mesh.backUp("laptop");
  await mesh.machine("laptop").world.call(cancelAsk, { params: { id }, body: { peer_id: "web" } });
  await mesh.pass(2);
  // The batches in which it reports its position are lost.
  const { daemon_id } = mesh.machine("laptop").world;
  mesh.network.bus.onPublish = (from) => from !== daemon_id;
  await mesh.restore("laptop");
  mesh.network.bus.onPublish = () => true;
  await mesh.ask("laptop", "BQ");
  await mesh.pass(5);
  assert.equal((await mesh.readAsk("laptop", id)).close_reason, "cancelled");
});

Deno.test("an answer that meets another open ask under its id does not close it", async () => {
  await using mesh = await restorableMachines({ repeatsNumbers: true });
  await mesh.backUp("laptop");
  await mesh.ask("laptop", "AQ");
  await mesh.pass(2);
  await mesh.restore("laptop");
  const buildbox = mesh.machine("buildbox").world.daemon_id;
  mesh.network.bus.setReachable(buildbox, false);
  const id = await mesh.ask("laptop", "BQ");
  await mesh.answer("buildbox", "AQ", "old");
  await mesh.pass();
  mesh.network.bus.setReachable(buildbox, true);
  await mesh.pass(2);
  const { reply, close_reason } = await mesh.readAsk("laptop", id);
  const why = "Not delivered: the other machine has another message with its id";
  assert.deepEqual([reply, close_reason], [why, "send_failed"]);
});

Deno.test("a permission that is asked again under the id that its asker chose gets its own answer", async () => {
  await using mesh = await restorableMachines({
    settings: { buildbox: { "mesh.bus.human_home": "laptop" } },
  });
  await mesh.backUp("buildbox");
  await startAskBlocking(mesh.machine("buildbox").world, { from_peer: "api", prompt: "Run rm?" });
  await mesh.pass(2);
  await mesh.restore("buildbox");
  const again = { from_peer: "api", prompt: "Run ls?" };
  const question = await startAskBlocking(mesh.machine("buildbox").world, again);
  await mesh.pass(2);
  const laptop = mesh.machine("laptop");
  const { items } = await laptop.world.call(listInbox, { query: {} });
  const allow = async (index: number) => {
    const params = { id: items[index]?.item_id ?? "" };
    const body = { text: "", option_id: "allow" };
    const headers = { "x-mesh-terminal": String(TERMINAL_PROGRAM_PID) };
    await laptop.world.call(replyInboxItem, { params, body, headers });
    await mesh.pass(2);
  };
  assert.equal(items.length, 2);
  await allow(1); // The older one.
  assert.equal(question.done, false);
  await allow(0);
  assert.equal((await question.answer).option_id, "allow");
});

Deno.test("messages under way when the sender was restored arrive once, and are confirmed", async () => {
  await using mesh = await restorableMachines();
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, false);
  const waiting = await mesh.notify("laptop", "before the backup");
  await mesh.pass();
  await mesh.backUp("laptop");
  mesh.network.bus.setReachable(mesh.machine("buildbox").world.daemon_id, true);
  await mesh.pass(2);
  await mesh.notify("laptop", "after it");
  await mesh.pass(2);
  await mesh.restore("laptop"); // The restored database lacks the confirmation.
  await mesh.pass(2);
  assert.deepEqual(mesh.got("buildbox", "notify"), ["before the backup", "after it"]);
  assert.equal(await mesh.stateOf("laptop", waiting), "accepted");
});

Deno.test("an older backup, restored twice, still loses and repeats nothing that is new", async () => {
  await using mesh = await restorableMachines();
  await mesh.backUp("laptop");
  for (const round of NUMBERS.slice(0, 3)) {
    await mesh.notify("laptop", `note ${round}`);
    const id = await mesh.ask("laptop", `ask ${round}`);
    await mesh.pass(2);
    await mesh.answer("buildbox", `ask ${round}`, `answer ${round}`);
    await mesh.pass(2);
    assert.equal((await mesh.readAsk("laptop", id)).reply, `answer ${round}`);
    if (round < 2) await mesh.restore("laptop");
  }
  assert.deepEqual(mesh.got("buildbox", "notify"), ["note 0", "note 1", "note 2"]);
});
