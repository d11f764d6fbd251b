import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import { deriveKey, open, seal, SEAL_BYTES } from "../../../../daemon/machines/trust/sealing.ts";
import { someBytes, someDamage } from "../../../support/machines/trusted_machines.ts";

const KEY = new Uint8Array(32).fill(7);
const context = fc.string({ unit: "grapheme" });

Deno.test("sealed bytes open with the same key and the same context", () => {
  fc.assert(fc.property(someBytes, context, (bytes, about) => {
    const sealed = seal(KEY, about, bytes, randomIds);
    assert.equal(sealed.length, bytes.length + SEAL_BYTES);
    assert.deepEqual(open(KEY, about, sealed), bytes);
  }));
});

Deno.test("every single changed byte of sealed bytes is refused", () => {
  const sealed = seal(KEY, "batch", new Uint8Array(20), randomIds);
  sealed.forEach((byte, at) => {
    assert.equal(open(KEY, "batch", sealed.with(at, byte ^ 1)), null, `byte ${at}`);
  });
});

Deno.test("sealed bytes of every shorter length are refused", () => {
  const sealed = seal(KEY, "batch", new Uint8Array(20), randomIds);
  for (let length = 0; length < sealed.length; length++) {
    assert.equal(open(KEY, "batch", sealed.slice(0, length)), null, `${length} bytes`);
  }
});

Deno.test("damaged bytes, another context and another key are refused", () => {
  fc.assert(fc.property(someBytes, someDamage, context, (bytes, damage, other) => {
    const sealed = seal(KEY, "batch", bytes, randomIds);
    assert.equal(open(KEY, "batch", damage(sealed)), null);
    fc.pre(other !== "batch");
    assert.equal(open(KEY, other, sealed), null);
    assert.equal(open(new Uint8Array(32).fill(8), "batch", sealed), null);
  }));
});

Deno.test("random bytes of any length never open and never throw", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2000 }), context, (bytes, about) => {
    assert.equal(open(KEY, about, bytes), null);
    assert.equal(open(KEY, about, new Uint8Array([1, ...bytes])), null);
  }));
});

Deno.test("bytes that are sealed twice look different, and neither shows the text", () => {
  const text = new TextEncoder().encode("the same words");
  const [first, second] = [
    seal(KEY, "batch", text, randomIds),
    seal(KEY, "batch", text, randomIds),
  ];
  assert.notDeepEqual(first.subarray(1, 13), second.subarray(1, 13));
  assert.notDeepEqual(first.subarray(13), second.subarray(13));
  assert.ok(!first.toHex().includes(text.toHex()));
});

Deno.test("keys are derived as in RFC 5869, and differ by their purpose", () => {
  const material = new Uint8Array(22).fill(0x0b); // Test case 3 of the RFC, its first 32 bytes.
  const expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d";
  assert.equal(deriveKey(material, "").toHex(), expected);
  assert.notEqual(deriveKey(material, "other").toHex(), expected);
});

Deno.test("a context that is not well-formed text is refused when sealing", () => {
  assert.throws(() => seal(KEY, "\ud800", new Uint8Array(), randomIds), TypeError);
});
