/** Ids from row numbers, and back. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { keyedIdCodec } from "../../../../daemon/features/messages/id_codec.ts";

const seqs = fc.integer({ min: 1, max: 2 ** 48 - 1 });

Deno.test("an id is 12 hex digits, and decodes to its number", () => {
  const idCodec = keyedIdCodec("k");
  fc.assert(fc.property(seqs, (seq) => {
    const ident = idCodec.ident(seq);
    assert.match(ident, /^[0-9a-f]{12}$/);
    assert.equal(idCodec.seq(ident), seq);
  }));
});

Deno.test("a text that is not an id has no number", () => {
  for (const text of ["", "xyz", "0".repeat(11), "0".repeat(13), "00000000000G", " 00000000001"]) {
    assert.equal(keyedIdCodec("k").seq(text), null, text);
  }
});

Deno.test("two daemons give different ids, and consecutive ids look unrelated", () => {
  const [a, b] = [keyedIdCodec("a"), keyedIdCodec("b")];
  assert.notEqual(a.ident(1), b.ident(1));
  const first = new Set(Array.from({ length: 1000 }, (_, seq) => a.ident(seq + 1).slice(0, 3)));
  assert.ok(first.size > 500, `${first.size} different beginnings among 1000 neighbours`);
});
