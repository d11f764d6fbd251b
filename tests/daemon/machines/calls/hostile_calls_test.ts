/** A stolen bus, and machines with other keys or clocks, neither forge nor repeat a call. */

import assert from "node:assert/strict";
import { CALL_MS_MAX } from "../../../../daemon/machines/calls/bounds.ts";
import {
  CALL_AGE_MS_MAX,
  CALLS_AT_ONCE_MAX,
  NonceMemory,
  NONCES_MAX,
} from "../../../../daemon/machines/calls/call_server.ts";
import { callContext, encode, toFrame } from "../../../../daemon/machines/calls/codec.ts";
import { listMessages } from "protocol/messages/log.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import {
  introduce,
  joinCalling,
  type TwoMachines,
  twoMachines,
} from "../../../support/machines/two_machines.ts";
import type { FakeClock } from "../../../support/clock.ts";
import { Chance } from "../../../support/seeded_random.ts";
import { SwiftClock } from "../../../support/swift_clock.ts";
import { world } from "../../../support/world.ts";

const HELLO = { body: { from_peer: "web", to_peer: "api", text: "Hello" } };
const REFUSED = { name: "CallRefused" };
const SKEW_MS = 5 * 60_000;

async function messagesOf({ buildbox }: TwoMachines): Promise<number> {
  return (await buildbox.call(listMessages, { query: {} })).messages.length;
}

/** Two machines with the keys and ids of others, and the peer `api`. */
async function withSameKeys(
  { laptop, buildbox }: TwoMachines,
  clock: FakeClock = new SwiftClock(),
): Promise<TwoMachines> {
  const two = await twoMachines({ keys: laptop.keys }, { keys: buildbox.keys }, clock);
  await addPeer(two.buildbox, "api");
  return two;
}

/** Two machines, and the bytes of a call from laptop that was executed. */
async function withSentCall() {
  const two = await twoMachines();
  await addPeer(two.buildbox, "api");
  await two.call(notifyPeer, HELLO);
  const [call] = two.bus.sent;
  if (!call) throw new Error("Nothing was sent");
  return { two, frame: call.frame, from: call.from };
}

Deno.test("a call that is repeated by the bus is not executed again, and gets no answer", async () => {
  const { two, frame, from } = await withSentCall();
  await using _ = two;
  await assert.rejects(two.buildbox.receive(from, frame), REFUSED);
  assert.equal(await messagesOf(two), 1);
});

Deno.test("a call that the bus held back for more than 60 s is not executed", async () => {
  await using two = await twoMachines();
  await addPeer(two.buildbox, "api");
  two.bus.carry = () => new Promise(() => undefined);
  void two.call(notifyPeer, HELLO);
  await two.laptop.clock.settle();
  const [held] = two.bus.sent;
  await two.laptop.clock.advance(CALL_AGE_MS_MAX + 1);
  await two.buildbox.receive(held?.from ?? "", held?.frame ?? new Uint8Array());
  assert.equal(await messagesOf(two), 0);
});

Deno.test("a call from before the last start of a daemon is not executed again", async () => {
  const { two, frame, from } = await withSentCall();
  await using _ = two;
  const clock = new SwiftClock();
  await clock.advance(two.laptop.clock.now() - clock.now() + 1);
  await using again = await withSameKeys(two, clock);
  await again.buildbox.receive(from, frame);
  assert.equal(await messagesOf(again), 0);
  await again.call(notifyPeer, HELLO);
  assert.equal(await messagesOf(again), 1);
});

Deno.test("a call that another machine sends in laptop's name, or with changed bytes, is not executed", async () => {
  const { two, frame, from } = await withSentCall();
  await using _ = two;
  await using other = await withSameKeys(two);
  const tower = joinCalling(other.network, "tower", {});
  await using _tower = tower;
  await introduce([tower, other.laptop, other.buildbox]);
  const { receive, daemon_id } = other.buildbox;
  await assert.rejects(receive(daemon_id, frame), REFUSED);
  await assert.rejects(receive(tower.daemon_id, frame), REFUSED);
  await assert.rejects(receive("dm-00000000000f", frame), REFUSED);
  const nonce = "0".repeat(32);
  const at = other.laptop.clock.now();
  const context = callContext(nonce);
  const forged = tower.seal.seal(daemon_id, context, encode({ kind: "ping", at }));
  await assert.rejects(receive(from, toFrame(nonce, forged)), REFUSED);
  assert.ok(await receive(tower.daemon_id, toFrame(nonce, forged)));
  const changed = frame.slice();
  changed[1] = (changed[1] ?? 0) ^ 1; // The nonce.
  await assert.rejects(receive(from, changed), REFUSED);
  assert.equal(await messagesOf(other), 0);
  await receive(from, frame);
  assert.equal(await messagesOf(other), 1);
});

Deno.test("an answer that belongs to another call is no answer", async () => {
  await using two = await twoMachines();
  await addPeer(two.buildbox, "api");
  const answers: Uint8Array[] = [];
  two.bus.carry = async (call) => {
    answers.push(await two.bus.deliver(call));
    return answers[0] ?? new Uint8Array();
  };
  assert.equal((await two.fetch("/peers")).status, 200);
  const { error, may_have_been_delivered } = await (await two.fetch("/peers")).json();
  assert.deepEqual([error, may_have_been_delivered], ["machine_unreachable", true]);
});

for (const skew_ms of [SKEW_MS, -SKEW_MS]) {
  Deno.test(`clocks that differ by ${skew_ms / 60_000} minutes cost one more call, and none after a ping`, async () => {
    await using two = await twoMachines({}, { ahead_ms: skew_ms });
    assert.equal((await two.fetch("/peers")).status, 200);
    assert.equal(two.bus.sent.length, 2);
    two.laptop.daemon.tick();
    await two.laptop.clock.settle();
    const { pings } = two.laptop.daemon.calls ?? {};
    assert.equal(pings?.of(two.buildbox.daemon_id).clock_ahead_ms, skew_ms);
    two.bus.sent.length = 0;
    assert.equal((await two.fetch("/peers")).status, 200);
    assert.equal(two.bus.sent.length, 1);
  });
}

Deno.test("a call fails once its time is refused twice", async () => {
  await using two = await twoMachines();
  const { clock } = two.buildbox;
  two.bus.carry = (call) => {
    clock.sleepMachine(10 * CALL_AGE_MS_MAX);
    return two.bus.deliver(call);
  };
  const { error, may_have_been_delivered } = await (await two.fetch("/peers")).json();
  assert.deepEqual([error, may_have_been_delivered], ["machine_unreachable", false]);
  assert.equal(two.bus.sent.length, 2);
});

Deno.test("bytes of any kind are refused, and so are sealed bytes that are no call", async () => {
  await using two = await twoMachines();
  const chance = new Chance(7);
  const randomBytes = () => Uint8Array.from({ length: chance.below(200) }, () => chance.below(256));
  const { receive } = two.buildbox;
  const { daemon_id, seal } = two.laptop;
  const nonce = "0".repeat(32);
  const sealed = (bytes: Uint8Array) =>
    toFrame(nonce, seal.seal(two.buildbox.daemon_id, callContext(nonce), bytes));
  const whole = encode({ kind: "ping", at: 0 });
  assert.ok(await receive(daemon_id, sealed(whole)));
  for (let count = 0; count < 300; count++) {
    await assert.rejects(receive(daemon_id, randomBytes()), REFUSED);
    await assert.rejects(receive(daemon_id, sealed(randomBytes())), REFUSED);
  }
  for (let length = 0; length < whole.length; length++) {
    await assert.rejects(receive(daemon_id, sealed(whole.subarray(0, length))), REFUSED);
  }
});

Deno.test("calls that are answered at a time are bounded", async () => {
  await using two = await twoMachines();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const answer = () => released.then(() => new Response("{}"));
  two.buildbox.daemon.calls?.server.start(answer);
  const running = Array.from({ length: CALLS_AT_ONCE_MAX }, () => two.fetch("/peers"));
  await two.laptop.clock.settle();
  const { error, retry_after_seconds } = await (await two.fetch("/peers")).json();
  assert.deepEqual([error, retry_after_seconds], ["rate_limited", 1]);
  release();
  for (const call of running) assert.equal((await call).status, 200);
  assert.equal((await two.fetch("/peers")).status, 200);
});

Deno.test("a request that takes too long is cancelled, as nobody waits for it any more", async () => {
  await using two = await twoMachines();
  const { promise: cancelled, resolve } = Promise.withResolvers<Response>();
  two.buildbox.daemon.calls?.server.start(({ signal }) => {
    signal.addEventListener("abort", () => resolve(new Response("{}")));
    return cancelled;
  });
  void two.fetch("/peers");
  await two.buildbox.clock.advance(CALL_MS_MAX);
  assert.equal((await cancelled).status, 200);
});

Deno.test("remembered calls are bounded, and forgotten when they are too old to be accepted", () => {
  const memory = new NonceMemory(0);
  const now = 1_000_000;
  for (let count = 0; count < NONCES_MAX; count++) {
    assert.equal(memory.check(`a ${count}`, now, now), "new");
  }
  assert.equal(memory.check("a more", now, now), "full");
  assert.equal(memory.check("a 0", now, now), "repeated");
  const later = now + CALL_AGE_MS_MAX;
  assert.equal(memory.check("a 0", now, later), "repeated");
  assert.equal(memory.check("a 0", now, later + 1), "wrong_time");
  assert.equal(memory.check("a more", later, later + 1), "new");
  assert.equal(memory.size, 1);
});

Deno.test("a call from the future is remembered as long as it could be accepted", () => {
  const memory = new NonceMemory(0);
  const [now, at] = [1_000_000, 1_000_000 + CALL_AGE_MS_MAX];
  assert.equal(memory.check("a 1", at, now), "new");
  assert.equal(memory.check("b 1", at + CALL_AGE_MS_MAX, at + CALL_AGE_MS_MAX), "new");
  assert.equal(memory.check("a 1", at, at + CALL_AGE_MS_MAX), "repeated");
});

Deno.test("a daemon without calls pays nothing for them", async () => {
  await using w = world();
  assert.equal(w.daemon.calls, undefined);
});
