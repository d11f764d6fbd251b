import assert from "node:assert/strict";
import { getConfig } from "protocol/api/config.ts";
import { listMessages } from "protocol/messages/log.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { getPeer, listPeers } from "protocol/peers/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { CALL_BYTES_MAX } from "../../../../daemon/machines/calls/bounds.ts";
import { callContext, readFrame } from "../../../../daemon/machines/calls/codec.ts";
import { BusError } from "../../../../daemon/machines/bus.ts";
import { addPeer, notify } from "../../../support/daemon/peer_clients.ts";
import { twoMachines } from "../../../support/machines/two_machines.ts";
import { LOOPBACK, world } from "../../../support/world.ts";

const HUMAN = { settings: { "human.name": "sam" } };

/** A refusal with its status and its public code. */
function refusal(status: number, code: string) {
  return { status, message: new RegExp(`^${code}`) };
}

function notification(to_peer: string, from_peer = "web") {
  return { body: { from_peer, to_peer, text: "Hello" } };
}

Deno.test("a call is answered by the other machine, which its name or its id names", async () => {
  await using two = await twoMachines();
  await addPeer(two.laptop, "web");
  await addPeer(two.buildbox, "api");
  const named = await two.call(listPeers, { query: {} });
  assert.deepEqual(named.peers.map(({ name }) => name), ["api"]);
  const path = `/machines/${two.buildbox.daemon_id}/call/peers?circle=default`;
  const { peers } = await (await two.laptop.fetch(path)).json();
  assert.deepEqual(peers.map(({ name }: { name: string }) => name), ["api"]);
  const elsewhere = await (await two.fetch("/peers?circle=other")).json();
  assert.deepEqual(elsewhere.peers, []);
});

Deno.test("a call passes the body, and the status and refusal of the other machine", async () => {
  await using two = await twoMachines();
  await addPeer(two.buildbox, "api");
  assert.equal((await two.call(notifyPeer, notification("api"))).to_peer_name, "api");
  const { messages } = await two.buildbox.call(listMessages, { query: {} });
  assert.deepEqual(messages.map(({ text }) => text), ["Hello"]);
  await assert.rejects(two.call(notifyPeer, notification("nobody")), refusal(404, "unknown_peer"));
  await assert.rejects(
    two.call(getPeer, { params: { id: "a b/c?d" }, query: {} }),
    refusal(404, "unknown_peer: Unknown peer: a b/c\\?d$"),
  );
});

Deno.test("an Idempotency-Key passes a call, so that a repeated request is not executed", async () => {
  await using two = await twoMachines();
  await addPeer(two.buildbox, "api");
  const request = { ...notification("api"), headers: { "idempotency-key": "k-1" } };
  const ids = [await two.call(notifyPeer, request), await two.call(notifyPeer, request)]
    .map(({ delivery_id }) => delivery_id);
  assert.equal(ids[0], ids[1]);
});

Deno.test("a machine that may administer reaches routes of administration, but none that pass no tunnel, and no stream", async () => {
  await using two = await twoMachines();
  assert.ok(await two.call(getConfig, {}));
  const body = { path: "/work", backend: "codex" } as const;
  await assert.rejects(two.call(spawnPeer, { body, query: {} }), refusal(503, "spawn_disabled"));
  for (const path of ["/metrics", "/machines/laptop/call/peers", "/events/stream"]) {
    const response = await two.fetch(path);
    const { error } = await response.json();
    assert.deepEqual([path, response.status, error], [path, 403, "not_from_elsewhere"]);
  }
});

for (const allow_admin of [[], ["otherbox"], ["dm-00000000000f"]]) {
  Deno.test(`a machine that is not in mesh.bus.allow_admin (${allow_admin}) is refused`, async () => {
    await using two = await twoMachines({}, { allow_admin });
    await addPeer(two.buildbox, "api");
    for (const path of ["/peers", "/config", "/metrics", "/no-such-route"]) {
      const response = await two.fetch(path);
      const { error, machine, caller } = await response.json();
      assert.deepEqual(
        [path, response.status, error, machine, caller],
        [path, 403, "machine_not_yours", "buildbox", two.laptop.daemon_id],
      );
    }
    await assert.rejects(
      two.call(notifyPeer, notification("api")),
      refusal(403, "machine_not_yours"),
    );
    assert.deepEqual((await two.buildbox.call(listMessages, { query: {} })).messages, []);
  });
}

for (const allow_admin of [["LAPTOP"], ["dm-0000000f4241"]]) {
  Deno.test(`mesh.bus.allow_admin may name a machine in any case, or by its id (${allow_admin})`, async () => {
    await using two = await twoMachines({}, { allow_admin });
    assert.equal((await two.fetch("/peers")).status, 200);
  });
}

Deno.test("leave to administer one machine gives that one no leave to call back", async () => {
  await using two = await twoMachines();
  const response = await two.buildbox.fetch("/machines/laptop/call/peers");
  assert.equal((await response.json()).error, "machine_not_yours");
});

Deno.test("a machine with unknown keys is refused as unknown", async () => {
  await using two = await twoMachines();
  const response = await two.laptop.fetch("/machines/nobox/call/peers");
  const { error, machine } = await response.json();
  assert.deepEqual([response.status, error, machine], [404, "unknown_machine_name", "nobox"]);
});

Deno.test("a person who is proved at one machine speaks as the human of the other one; a program does not", async () => {
  await using two = await twoMachines({ at_terminal: true }, HUMAN);
  await addPeer(two.buildbox, "api");
  await two.callAtTerminal(notifyPeer, notification("api", "sam"));
  await two.call(notifyPeer, notification("api", "sam"));
  const { messages } = await two.buildbox.call(listMessages, { query: {} });
  assert.deepEqual(messages.map(({ voice }) => voice), ["unverified", "human"]);
});

Deno.test("a caller that only claims a terminal does not speak as the human of the other machine", async () => {
  await using two = await twoMachines({ at_terminal: false }, { ...HUMAN, at_terminal: true });
  await addPeer(two.buildbox, "api");
  await two.callAtTerminal(notifyPeer, notification("api", "sam"));
  const { messages } = await two.buildbox.call(listMessages, { query: {} });
  assert.deepEqual(messages.map(({ voice }) => voice), ["unverified"]);
});

Deno.test("the token of a machine is needed to call another one from it, and is not sent there", async () => {
  const token = "a-token-of-this-machine";
  await using two = await twoMachines({ settings: { "daemon.auth_token": token } });
  assert.equal((await two.fetch("/peers")).status, 401);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await two.fetch("/peers", { headers })).status, 200);
  const frame = two.bus.sent[0]?.frame ?? new Uint8Array();
  const { nonce = "", sealed = new Uint8Array() } = readFrame(frame) ?? {};
  const plain = two.buildbox.seal.open(two.laptop.daemon_id, callContext(nonce), sealed);
  const text = new TextDecoder().decode(plain ?? undefined);
  assert.deepEqual([text.includes("/peers"), text.includes(token)], [true, false]);
});

Deno.test("a request that is too large is refused before it is sent", async () => {
  await using two = await twoMachines();
  const body = new Uint8Array(CALL_BYTES_MAX + 1);
  for (const size of [CALL_BYTES_MAX + 1, CALL_BYTES_MAX]) { // The head takes bytes, too.
    const response = await two.fetch("/notify", { method: "POST", body: body.subarray(0, size) });
    const { error, part } = await response.json();
    assert.deepEqual([response.status, error, part], [413, "call_too_large", "request"]);
  }
  assert.equal(two.bus.sent.length, 0);
});

Deno.test("a response that is too large is refused, and says so", async () => {
  await using two = await twoMachines();
  const { buildbox: w } = two;
  for (const name of ["web", "api"]) await addPeer(w, name);
  for (let count = 0; count < 20; count++) await notify(w, "web", "api", "x".repeat(60_000));
  const response = await two.fetch("/messages?limit=20");
  const { error, part } = await response.json();
  assert.deepEqual([response.status, error, part], [413, "call_too_large", "answer"]);
  assert.equal((await two.fetch("/messages?limit=5")).status, 200);
});

Deno.test("a machine that does not answer is unreachable, and whether the call arrived is said", async () => {
  await using two = await twoMachines();
  const failures = [
    [new BusError("no_answer", "timed out"), true],
    [new BusError("unreachable", "down", "no"), false],
    [new BusError("failed", "lost"), true],
  ] as const;
  for (const [failure, may_have_been_delivered] of failures) {
    two.bus.carry = () => Promise.reject(failure);
    const response = await two.fetch("/peers");
    const { error, machine, ...fields } = await response.json();
    assert.deepEqual(
      [response.status, error, machine, fields.may_have_been_delivered],
      [503, "machine_unreachable", "buildbox", may_have_been_delivered],
    );
  }
  two.bus.carry = () => Promise.reject(new BusError("too_large", "max payload", "no"));
  assert.equal((await (await two.fetch("/peers")).json()).error, "call_too_large");
});

Deno.test("a machine that is on no bus knows no other one", async () => {
  await using w = world();
  const response = await w.fetch("/machines/buildbox/call/peers");
  assert.equal((await response.json()).error, "unknown_machine_name");
});

Deno.test("HEAD is called as HEAD, and has no body", async () => {
  await using two = await twoMachines();
  const response = await two.fetch("/peers", { method: "HEAD" });
  assert.deepEqual([response.status, await response.text()], [200, ""]);
});

Deno.test("a daemon that shuts down answers no calls, and refuses one that it has got", async () => {
  await using two = await twoMachines();
  const { daemon } = two.buildbox;
  await daemon.shutDown();
  const { error, may_have_been_delivered } = await (await two.fetch("/peers")).json();
  assert.deepEqual([error, may_have_been_delivered], ["machine_unreachable", false]);
  const caller = { daemon_id: two.laptop.daemon_id, human: false };
  const response = await daemon.answerMachine(new Request("http://call.invalid/peers"), caller);
  assert.equal((await response.json()).error, "shutting_down");
});

Deno.test("calls count as requests without a socket, so that none passes for a local process", async () => {
  await using two = await twoMachines();
  const request = new Request("http://call.invalid/peers");
  const caller = { daemon_id: two.laptop.daemon_id, human: false };
  assert.equal((await two.buildbox.daemon.answerMachine(request, caller)).status, 200);
  assert.equal((await two.buildbox.daemon.fetch(request, LOOPBACK)).status, 403);
});
