import assert from "node:assert/strict";
import { isPublicKey, makeUserKey, publicKeyOf } from "../../../../daemon/machines/nats/nkeys.ts";

Deno.test("a new key has the forms of an nkey, and its seed gives the public key", async () => {
  const { seed, public_key } = await makeUserKey();
  assert.match(seed, /^SU[A-Z2-7]{56}$/);
  assert.match(public_key, /^U[A-Z2-7]{55}$/);
  assert.equal(await publicKeyOf(seed), public_key);
  assert.equal(await isPublicKey(public_key), true);
  assert.notEqual((await makeUserKey()).seed, seed);
});

Deno.test("a mistyped key, or a key of another kind, is invalid", async () => {
  const { seed, public_key } = await makeUserKey();
  const mistype = (text: string) =>
    text.slice(0, 20) + (text[20] === "A" ? "B" : "A") + text.slice(21);
  assert.equal(await publicKeyOf(mistype(seed)), undefined);
  assert.equal(await isPublicKey(mistype(public_key)), false);
  assert.equal(await publicKeyOf(public_key), undefined);
  assert.equal(await isPublicKey(seed), false);
  assert.equal(await isPublicKey(""), false);
});
