/** Web Push: the example of RFC 8291, the token of RFC 8292, padding and bad keys. */

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import {
  areDeviceKeys,
  encryptPush,
  newKeyPair,
  PUSH_BYTES,
  vapidAuthorization,
} from "kit/host/web_push.ts";
import { decryptPush, newDevice } from "../../support/push/device.ts";

const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });

/** Appendix A of RFC 8291. */
const RFC = {
  text: "When I grow up, I want to be a watermelon",
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  own: {
    public_key:
      "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
    private_key: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  },
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  body: "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml" +
    "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT" +
    "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
};

Deno.test("a push is encrypted as the example of RFC 8291", () => {
  const { text, p256dh, auth, own, salt, body } = RFC;
  const made = encryptPush(text, { p256dh, auth }, { own, salt, bytes: text.length });
  assert.deepEqual(made, decode(body));
});

Deno.test("every push has the same length, and only its device reads it", () => {
  const device = newDevice(), salt = RFC.salt;
  for (const text of ["", "Grüße 🍉", "x".repeat(PUSH_BYTES)]) {
    const body = encryptPush(text, device.keys, { salt });
    assert.equal(body.length, PUSH_BYTES + 103);
    assert.ok(body.length <= 4096);
    assert.equal(decryptPush(device, body), text);
    assert.throws(() => decryptPush(newDevice(), body));
  }
  assert.throws(() => encryptPush("x".repeat(PUSH_BYTES + 1), device.keys, { salt }), RangeError);
});

Deno.test("keys that are no keys of a device are recognized", () => {
  const { keys } = newDevice();
  assert.equal(areDeviceKeys(keys), true);
  const point = decode(keys.p256dh);
  point[40] = (point[40] ?? 0) ^ 1;
  const moved = point.toBase64({ alphabet: "base64url", omitPadding: true });
  for (const p256dh of ["", "???", moved, keys.auth, "A".repeat(87)]) {
    assert.equal(areDeviceKeys({ ...keys, p256dh }), false, p256dh);
  }
  assert.equal(areDeviceKeys({ ...keys, auth: "AAAA" }), false);
});

Deno.test("the sender's token is signed by its key, for one push service", () => {
  const own = newKeyPair();
  const claims = { audience: "https://push.example", contact: "mailto:a@b.example", expires: 5 };
  const [, token = "", k = ""] = /^vapid t=(.+), k=(.+)$/.exec(vapidAuthorization(own, claims)) ??
    [];
  assert.equal(k, own.public_key);
  const [head = "", body = "", signature = ""] = token.split(".");
  const json = (part: string) => JSON.parse(new TextDecoder().decode(decode(part)));
  assert.deepEqual(json(head), { typ: "JWT", alg: "ES256" });
  assert.deepEqual(json(body), { aud: "https://push.example", exp: 5, sub: "mailto:a@b.example" });
  const point = decode(k);
  const text = (bytes: Uint8Array) =>
    new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });
  const jwk = { kty: "EC", crv: "P-256", x: text(point.slice(1, 33)), y: text(point.slice(33)) };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const options = { key, dsaEncoding: "ieee-p1363" } as const;
  const signed = new TextEncoder().encode(`${head}.${body}`);
  assert.ok(verify("sha256", signed, options, decode(signature)));
});
