/** Interrupts from outside of the machine: through a relay, and from another machine. */

import assert from "node:assert/strict";
import { addPeer, connectPeer, eventData } from "../../../support/daemon/peer_clients.ts";
import { introduce, twoMachines } from "../../../support/machines/two_machines.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  type RelayWorld,
  relayWorld,
} from "../../../support/relay/relay_world.ts";
import type { World } from "../../../support/world.ts";

const COOKIE = "mesh=a-random-id";
const ALLOWED = { settings: { "relay.allow_admin": "true", "human.name": "sam" } };

/** A client that stops its own agent, in a turn. */
async function stoppable(w: World, name = "api") {
  const socket = await connectPeer(w, name, { backend: "acp", capabilities: ["interrupt"] });
  await socket.send({ type: "status", status: "busy", turn_state: "working" });
  return socket;
}

/** A request of a browser that is signed in at the relay. */
async function browse(r: RelayWorld, number: number, namespace = NAMESPACE) {
  r.sessions.set(COOKIE, namespace);
  const answer = r.fetch(`/m/${daemonId(number)}/peers/api/interrupt`, {
    method: "POST",
    body: "{}",
    headers: { cookie: COOKIE, "sec-fetch-site": "same-origin" },
  });
  let response: Response | undefined;
  void answer.then((done) => response = done);
  await r.clock.advanceUntil("the answer", () => response !== undefined, 250);
  const { status } = await answer;
  return { status, ...await (await answer).json() };
}

Deno.test("a person at the relay's page interrupts only where relay.allow_admin is on", async () => {
  await using r = relayWorld();
  await using shut = await r.daemon(1);
  await using open = await r.daemon(2, ALLOWED);
  const [first, second] = [await stoppable(shut), await stoppable(open)];
  const refused = await browse(r, 1);
  assert.deepEqual([refused.status, refused.error], [403, "relay_admin_off"]);
  assert.equal(first.of("interrupt").length, 0);
  const done = await browse(r, 2);
  assert.deepEqual([done.outcome, second.of("interrupt").length], ["asked", 1]);
  assert.equal(eventData(open, "interrupt").at(-1)?.from, "@sam");
});

Deno.test("a program, an app and another namespace gain no interrupt through a relay", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, ALLOWED);
  const api = await stoppable(w);
  const answer = await r.ask(1, "/peers/api/interrupt", { method: "POST", body: "{}" });
  const { error } = await answer.json();
  assert.deepEqual([answer.status, error], [403, "interrupt_not_allowed"]);
  const foreign = await browse(r, 1, "a-namespace-of-somebody-else");
  assert.notEqual(foreign.status, 200);
  assert.deepEqual([api.of("interrupt"), eventData(w, "interrupt")], [[], []]);
});

Deno.test("a hostile daemon at the same relay gains no interrupt by another's name or id", async () => {
  await using r = relayWorld();
  await using w = await r.daemon(1, ALLOWED);
  await using hostile = await r.daemon(2, { ...ALLOWED, secret: OTHER_SECRET });
  const api = await stoppable(w);
  const { peer_id } = (await (await w.fetch("/peers/api")).json()) as { peer_id: string };
  await addPeer(hostile, "boss", { role: "orchestrator" });
  for (const id of [peer_id, "api", `api@${daemonId(1)}`, `${daemonId(1)}/api`]) {
    const path = `/peers/${encodeURIComponent(id)}/interrupt?from_peer=boss`;
    assert.equal((await hostile.post(path, {})).status, 404);
  }
  // Its answer to a person's page is its own, and reaches no other daemon.
  assert.notEqual((await browse(r, 2)).status, 200);
  assert.deepEqual([api.of("interrupt"), eventData(w, "interrupt")], [[], []]);
});

const AT_TERMINAL = { "x-mesh-terminal": "7" };

for (const allow_admin of [["laptop"], []]) {
  const title = allow_admin.length > 0 ? "that lets this one administer it" : "of nobody's";
  Deno.test(`a person interrupts a peer of a machine ${title}, by its name here`, async () => {
    await using two = await twoMachines(
      { at_terminal: true, settings: { "human.name": "sam" } },
      { allow_admin, settings: { "mesh.bus.allow": '["*"]' } },
    );
    const api = await stoppable(two.buildbox);
    await introduce([two.laptop, two.buildbox]);
    const request = two.laptop.post("/peers/api@buildbox/interrupt", {}, AT_TERMINAL);
    let isDone = false;
    void request.then(() => isDone = true);
    await two.laptop.clock.advanceUntil("the answer", () => isDone, 250);
    const { outcome, error } = await (await request).json();
    const isAllowed = allow_admin.length > 0;
    assert.deepEqual(
      [outcome, error],
      isAllowed ? ["asked", undefined] : [undefined, "machine_not_yours"],
    );
    assert.equal(api.of("interrupt").length, isAllowed ? 1 : 0);
    const names = new Set(eventData(two.buildbox, "interrupt").map(({ from }) => from));
    assert.deepEqual([...names], isAllowed ? ["a person on another machine"] : []);
  });
}

Deno.test("a program reaches no peer of another machine, and no machine passes a call on", async () => {
  await using two = await twoMachines(
    { settings: { "human.name": "sam" } },
    { settings: { "mesh.bus.allow": '["*"]' } },
  );
  const api = await stoppable(two.buildbox);
  await introduce([two.laptop, two.buildbox]);
  for (
    const path of ["/peers/api@buildbox/interrupt", "/machines/buildbox/call/peers/api/interrupt"]
  ) {
    const answer = await two.laptop.post(path, {});
    assert.ok(answer.status === 409 || answer.status === 403, `${path}: ${answer.status}`);
  }
  assert.equal(api.of("interrupt").length, 0);
});
