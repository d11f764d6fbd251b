import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import {
  isAgreeKey,
  machineKeysFromText,
  machineKeysToText,
  makeMachineKeys,
  pairKeysOf,
  sign,
  toVerifyKey,
  verify,
} from "../../../../daemon/machines/trust/keys.ts";
import { countingIds } from "../../../support/ids.ts";
import { someBytes, someDamage } from "../../../support/machines/trusted_machines.ts";

const KEYS = makeMachineKeys(randomIds);
const OTHER = makeMachineKeys(randomIds);
const verifyKey = toVerifyKey(KEYS.public.sign);
const about = fc.array(fc.string({ unit: "binary" }), { maxLength: 4 });

Deno.test("new keys are random, and the ids of the context decide them", () => {
  assert.notEqual(KEYS.public.sign, OTHER.public.sign);
  assert.notEqual(KEYS.public.agree, OTHER.public.agree);
  const ids = countingIds();
  const [first, second] = [makeMachineKeys(ids), makeMachineKeys(ids)];
  assert.deepEqual(makeMachineKeys(countingIds()).public, first.public);
  assert.notDeepEqual(second.public, first.public);
});

Deno.test("keys are read back from the text of their file, and work", () => {
  const read = machineKeysFromText(machineKeysToText(KEYS));
  assert.ok(read);
  assert.deepEqual(read.public, KEYS.public);
  const bytes = new Uint8Array([1, 2, 3]);
  assert.ok(verify(verifyKey, ["test"], bytes, sign(read, ["test"], bytes)));
});

Deno.test("the file holds private and public keys as JWK", () => {
  const { sign, agree } = JSON.parse(machineKeysToText(KEYS));
  assert.deepEqual([sign.kty, sign.crv, sign.x], ["OKP", "Ed25519", KEYS.public.sign]);
  assert.deepEqual([agree.kty, agree.crv, agree.x], ["OKP", "X25519", KEYS.public.agree]);
  assert.equal(sign.d.length, 43);
  assert.notEqual(sign.d, agree.d);
});

Deno.test("a damaged file of keys gives null, or the same keys", () => {
  const file = new TextEncoder().encode(machineKeysToText(KEYS));
  fc.assert(fc.property(someDamage, (damage) => {
    const read = machineKeysFromText(new TextDecoder().decode(damage(file)));
    if (read) assert.deepEqual(read.public, KEYS.public);
  }));
});

Deno.test("a file whose public keys belong to other private keys gives null", () => {
  const mixed = JSON.parse(machineKeysToText(KEYS));
  mixed.agree.x = OTHER.public.agree;
  assert.equal(machineKeysFromText(JSON.stringify(mixed)), null);
});

Deno.test("any text is read as keys or gives null", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
    assert.equal(machineKeysFromText(text), null);
  }));
});

Deno.test("a signature is valid for its bytes, its statement and its key only", () => {
  fc.assert(fc.property(someBytes, about, about, someDamage, (bytes, said, other, damage) => {
    const signature = sign(KEYS, said, bytes);
    assert.ok(verify(verifyKey, said, bytes, signature));
    assert.ok(!verify(verifyKey, said, bytes, damage(signature)));
    assert.ok(!verify(toVerifyKey(OTHER.public.sign), said, bytes, signature));
    assert.ok(!verify(verifyKey, said, new Uint8Array([...bytes, 0]), signature));
    fc.pre(JSON.stringify(said) !== JSON.stringify(other));
    assert.ok(!verify(verifyKey, other, bytes, signature));
  }));
});

Deno.test("bytes cannot be moved between a statement and what it is about", () => {
  const bytes = new TextEncoder().encode('"b"]\nrest');
  const signature = sign(KEYS, ["a"], bytes);
  assert.ok(!verify(verifyKey, ["a", "b"], new TextEncoder().encode("rest"), signature));
});

Deno.test("two machines derive the same keys, one for each direction", () => {
  const a = pairKeysOf("dm-a", KEYS, { daemon_id: "dm-b", agree: OTHER.public.agree });
  const b = pairKeysOf("dm-b", OTHER, { daemon_id: "dm-a", agree: KEYS.public.agree });
  assert.deepEqual(a.send, b.receive);
  assert.deepEqual(a.receive, b.send);
  assert.notDeepEqual(a.send, a.receive);
});

Deno.test("the keys of two machines depend on the ids of both", () => {
  const theirs = { daemon_id: "dm-b", agree: OTHER.public.agree };
  const { send } = pairKeysOf("dm-a", KEYS, theirs);
  assert.notDeepEqual(pairKeysOf("dm-c", KEYS, theirs).send, send);
  assert.notDeepEqual(pairKeysOf("dm-a", KEYS, { ...theirs, daemon_id: "dm-c" }).send, send);
});

/** Points of low order on Curve25519, little-endian. */
const LOW_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

for (const point of LOW_ORDER) {
  Deno.test(`the point ${point.slice(0, 8)}… of low order is no key`, () => {
    const text = Uint8Array.fromHex(point).toBase64({ alphabet: "base64url", omitPadding: true });
    assert.equal(isAgreeKey(text), false);
  });
}

Deno.test("a real public key is a key", () => assert.ok(isAgreeKey(KEYS.public.agree)));
