/** The human's inbox on another machine: messages go there, and the inbox is answered from here. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { getInboxItem, listInbox, readInboxItem, replyInboxItem } from "protocol/inbox.ts";
import { BusError } from "../../../../daemon/machines/bus.ts";
import { addPeer, ask } from "../../../support/daemon/peer_clients.ts";
import {
  type CallingMachineOptions,
  introduce,
  twoStrangers,
} from "../../../support/machines/two_machines.ts";

const HUMAN = { "human.name": "sam" };

interface HomeOptions extends CallingMachineOptions {
  readonly announced?: boolean;
  /** The home of the human, for the machine that is the home of the other one. */
  readonly home_of_home?: string;
}

/** A laptop whose human's home is buildbox, which has announced its human unless told otherwise. */
async function withHome({ announced = true, home_of_home, ...options }: HomeOptions = {}) {
  const two = twoStrangers({
    settings: { ...HUMAN, "mesh.bus.human_home": "buildbox" },
    allow_admin: ["buildbox"],
    ...options,
  }, {
    settings: { ...HUMAN, ...(home_of_home && { "mesh.bus.human_home": home_of_home }) },
  });
  const { buildbox, laptop } = two;
  if (announced) await introduce([buildbox, laptop]);
  await addPeer(buildbox, "api");
  await addPeer(laptop, "web");
  return { two, home: buildbox.daemon.directory.mustHuman(), here: laptop };
}

Deno.test("a message to the human is for the human at home, by name, alias or id, and not for the inbox here", async () => {
  const { two, home, here } = await withHome();
  await using _ = two;
  const { directory } = here.daemon;
  const own = directory.mustHuman();
  for (const named of ["sam", "dashboard", "sam@buildbox", own.peer_id, home.peer_id]) {
    const { peer_id, role, daemon_id } = directory.target(named, {});
    assert.deepEqual(
      [named, peer_id, role, daemon_id],
      [named, home.peer_id, "human", two.buildbox.daemon_id],
    );
  }
  assert.equal(directory.target("web", {}).daemon_id, null);
});

Deno.test("until the home has announced its human, the inbox of this machine takes messages", async () => {
  const { two, here } = await withHome({ announced: false });
  await using _ = two;
  await ask(here, "web", "sam");
  assert.equal((await here.call(listInbox, { query: {} })).items.length, 1);
  assert.equal(two.bus.sent.length, 0);
});

Deno.test("the inbox is listed, shown, read and answered at home, by a person who is proved here", async () => {
  const { two, home, here } = await withHome({ at_terminal: true });
  await using _ = two;
  const w = two.buildbox;
  const correlation_id = await ask(w, "api", "sam", "Deploy?");
  const listed = await here.call(listInbox, { query: {} });
  assert.equal(listed.human_peer_id, home.peer_id);
  assert.deepEqual(listed.items.map(({ text }) => text), ["Deploy?"]);
  const params = { id: listed.items[0]?.item_id ?? "" };
  assert.equal((await here.call(getInboxItem, { params })).text, "Deploy?");
  await here.call(readInboxItem, { params, body: {} });
  assert.equal((await w.call(getInboxItem, { params })).read, true);
  const headers = { "x-mesh-terminal": "7", "idempotency-key": "k-1" };
  const request = { params, body: { text: "Yes" }, headers };
  assert.deepEqual(await here.call(replyInboxItem, request), { action: "acked", correlation_id });
  assert.deepEqual(await here.call(replyInboxItem, request), { action: "acked", correlation_id });
  assert.equal((await w.call(getInboxItem, { params })).replied, true);
});

for (const at_terminal of [true, false]) {
  Deno.test(`an answer at home is ${at_terminal ? "the human's" : "unverified"} if a person is ${at_terminal ? "" : "not "}proved here`, async () => {
    const { two, here } = await withHome({ at_terminal });
    await using _ = two;
    await two.buildbox.call(openAsk, {
      body: { from_peer: "api", to_peer: "sam", text: "Deploy?" },
    });
    const [item] = (await here.call(listInbox, { query: {} })).items;
    const headers = { "x-mesh-terminal": "7" };
    const params = { id: item?.item_id ?? "" };
    await here.call(replyInboxItem, {
      params,
      body: { text: "Yes", surface: "dashboard" },
      headers,
    });
    const { messages } = await (await two.buildbox.fetch("/messages?kind=ack")).json();
    assert.equal(messages[0]?.voice, at_terminal ? "human" : "unverified");
  });
}

Deno.test("an item that this machine has is answered here, and `here` lists this inbox", async () => {
  const { two, here } = await withHome({ announced: false });
  await using _ = two;
  await ask(here, "web", "sam", "Early?");
  await introduce([two.buildbox, here]);
  assert.deepEqual((await here.call(listInbox, { query: {} })).items, []);
  const { items: [item] } = await here.call(listInbox, { query: { here: "true" } });
  const params = { id: item?.item_id ?? "" };
  const replied = await here.call(replyInboxItem, { params, body: { text: "Yes" } });
  assert.equal(replied.action, "acked");
});

Deno.test("a home that cannot be reached is named, with the inbox that is left", async () => {
  const { two, here } = await withHome();
  await using _ = two;
  two.bus.carry = () => Promise.reject(new BusError("no_answer", "timed out"));
  const response = await here.fetch("/inbox");
  const { error, machine, hint, may_have_been_delivered } = await response.json();
  assert.deepEqual([response.status, error, machine], [503, "home_unreachable", "buildbox"]);
  assert.equal(may_have_been_delivered, true);
  assert.match(hint, /mesh inbox --here/);
  assert.equal((await here.fetch("/inbox?here=true")).status, 200);
});

Deno.test("two machines that name each other as the home do not pass a request back and forth", async () => {
  const { two, here } = await withHome({ home_of_home: "laptop" });
  await using _ = two;
  assert.ok(two.buildbox.daemon.directory.homeHuman());
  assert.equal((await here.fetch("/inbox")).status, 200);
  assert.equal(two.bus.sent.length, 1);
});
