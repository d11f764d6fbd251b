import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import { CHANNELS_MAX } from "../../../../daemon/machines/trust/envelope.ts";
import { pairKeysOf, sign, SIGNATURE_BYTES } from "../../../../daemon/machines/trust/keys.ts";
import { seal, SEAL_BYTES } from "../../../../daemon/machines/trust/sealing.ts";
import {
  makeMachine,
  makeNetwork,
  someBytes,
  someDamage,
} from "../../../support/machines/trusted_machines.ts";

const NETWORK = makeNetwork();
const [A, B, C] = [makeMachine(NETWORK), makeMachine(NETWORK), makeMachine(NETWORK)];
const context = fc.string({ unit: "binary" });
const BATCH = new TextEncoder().encode('{"previous":null,"entries":[]}');

Deno.test("an envelope opens for its receiver, as from its sender, in its context", () => {
  fc.assert(fc.property(someBytes, context, (bytes, about) => {
    const envelope = A.envelopes.sealFor(B.card, about, bytes);
    assert.equal(envelope.length, bytes.length + SEAL_BYTES + SIGNATURE_BYTES);
    assert.deepEqual(B.envelopes.openFrom(A.card, about, envelope), bytes);
  }));
});

Deno.test("every single changed byte of an envelope is refused", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  envelope.forEach((byte, at) => {
    const changed = envelope.with(at, byte ^ 0x80);
    assert.equal(B.envelopes.openFrom(A.card, "batch", changed), null, `byte ${at}`);
  });
});

Deno.test("an envelope of every shorter length is refused", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  for (let length = 0; length < envelope.length; length++) {
    assert.equal(B.envelopes.openFrom(A.card, "batch", envelope.slice(0, length)), null);
  }
});

Deno.test("damaged envelopes and other contexts are refused", () => {
  fc.assert(fc.property(someBytes, someDamage, context, context, (bytes, damage, about, other) => {
    const envelope = A.envelopes.sealFor(B.card, about, bytes);
    assert.equal(B.envelopes.openFrom(A.card, about, damage(envelope)), null);
    fc.pre(about !== other);
    assert.equal(B.envelopes.openFrom(A.card, other, envelope), null);
  }));
});

Deno.test("an answer cannot be passed off as a call, nor as the answer to another call", () => {
  const answer = A.envelopes.sealFor(B.card, "answer 1f", BATCH);
  for (const other of ["call 1f", "answer 2f", "answer 1", "answer 1f ", "batch", ""]) {
    assert.equal(B.envelopes.openFrom(A.card, other, answer), null, other);
  }
});

Deno.test("an envelope that comes back to its sender is refused", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  assert.equal(A.envelopes.openFrom(B.card, "batch", envelope), null);
  assert.equal(A.envelopes.openFrom(A.card, "batch", envelope), null);
});

Deno.test("an envelope is refused by another receiver, and as from another sender", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  assert.equal(C.envelopes.openFrom(A.card, "batch", envelope), null);
  assert.equal(B.envelopes.openFrom(C.card, "batch", envelope), null);
});

Deno.test("an envelope is refused by a machine with the same id and other keys", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  const imitation = makeMachine(makeNetwork(), { daemon_id: B.daemon_id });
  assert.equal(imitation.envelopes.openFrom(A.card, "batch", envelope), null);
  const imitatedSender = makeMachine(makeNetwork(), { daemon_id: A.daemon_id });
  assert.equal(B.envelopes.openFrom(imitatedSender.card, "batch", envelope), null);
});

Deno.test("an envelope is refused by a machine that took the keys of the receiver", () => {
  const envelope = A.envelopes.sealFor(B.card, "batch", BATCH);
  const thief = makeMachine(NETWORK, { keys: B.keys });
  assert.equal(thief.envelopes.openFrom(A.card, "batch", envelope), null);
});

/** Seals content behind a signature, as a holder of the key from A to B can. */
function sealWithPairKey(signature: Uint8Array, bytes: Uint8Array, contextNow = "batch") {
  const { receive } = pairKeysOf(B.daemon_id, B.keys, A.card);
  const about = JSON.stringify(["mesh bus 1", A.daemon_id, B.daemon_id, contextNow]);
  return seal(receive, about, new Uint8Array([...signature, ...bytes]), randomIds);
}

const aboutOf = (from: string, to: string, what: string) => ["mesh bus 1", from, to, what];

Deno.test("with the sender's signature, content sealed by the pair key is accepted", () => {
  const signature = sign(A.keys, aboutOf(A.daemon_id, B.daemon_id, "batch"), BATCH);
  assert.deepEqual(
    B.envelopes.openFrom(A.card, "batch", sealWithPairKey(signature, BATCH)),
    BATCH,
  );
});

// deno-fmt-ignore
const FORGED: Readonly<Record<string, Uint8Array>> = {
  "no signature":                      new Uint8Array(),
  "a signature of zeros":              new Uint8Array(64),
  "the signature of another machine":  sign(B.keys, aboutOf(A.daemon_id, B.daemon_id, "batch"), BATCH),
  "a signature for another receiver":  sign(A.keys, aboutOf(A.daemon_id, C.daemon_id, "batch"), BATCH),
  "a signature of another context":    sign(A.keys, aboutOf(A.daemon_id, B.daemon_id, "call 1"), BATCH),
  "a signature of other bytes":        sign(A.keys, aboutOf(A.daemon_id, B.daemon_id, "batch"), new Uint8Array(1)),
  "a signature of the opposite way":   sign(A.keys, aboutOf(B.daemon_id, A.daemon_id, "batch"), BATCH),
};

for (const [what, signature] of Object.entries(FORGED)) {
  Deno.test(`a stolen pair key with ${what} cannot speak as the sender`, () => {
    assert.equal(B.envelopes.openFrom(A.card, "batch", sealWithPairKey(signature, BATCH)), null);
    assert.equal(
      B.envelopes.openFrom(A.card, "batch", sealWithPairKey(signature, new Uint8Array())),
      null,
    );
  });
}

Deno.test("random bytes never open and never throw", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), context, (bytes, about) => {
    assert.equal(B.envelopes.openFrom(A.card, about, bytes), null);
    assert.equal(B.envelopes.openFrom(A.card, about, new Uint8Array([1, ...bytes])), null);
  }));
});

Deno.test("an envelope shows neither its text nor who signed it", () => {
  const hex = A.envelopes.sealFor(B.card, "batch", BATCH).toHex();
  assert.ok(!hex.includes(BATCH.toHex()));
  const signature = sign(A.keys, aboutOf(A.daemon_id, B.daemon_id, "batch"), BATCH);
  assert.ok(!hex.includes(signature.toHex()));
});

Deno.test("the keys of a card are derived once, and a bounded number of them is kept", () => {
  const { card, envelopes } = makeMachine(NETWORK);
  for (let turn = 0; turn < 3; turn++) envelopes.sealFor(B.card, "batch", BATCH);
  assert.equal(envelopes.channels, 1);
  for (let machine = 0; machine < CHANNELS_MAX; machine++) {
    envelopes.sealFor({ ...B.card, daemon_id: `dm-${machine}` }, "batch", BATCH);
  }
  assert.equal(envelopes.channels, CHANNELS_MAX);
  const again = envelopes.sealFor(B.card, "batch", BATCH);
  assert.deepEqual(B.envelopes.openFrom(card, "batch", again), BATCH);
});
