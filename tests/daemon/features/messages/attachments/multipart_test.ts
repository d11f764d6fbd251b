/** The multipart reader: fields are read correctly for any contents and any chunk borders. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  boundaryOf,
  partsOf,
} from "../../../../../daemon/features/messages/attachments/multipart.ts";

const utf8 = new TextEncoder();
const BOUNDARY = "b0";

/** Fragments that resemble the end of a field. */
const piece = fc.oneof(
  fc.constantFrom(
    "\r",
    "\n",
    "-",
    "--",
    "\r\n",
    "\r\n-",
    "\r\n--",
    "\r\n--b",
    "--b0",
    "\r--b0",
    "b0",
  ),
  fc.string({ unit: "binary", maxLength: 5 }),
).map((text) => utf8.encode(text));
const content = fc.array(piece, { maxLength: 30 })
  .map((pieces) => concatenate(pieces))
  .filter((bytes) => !utf8Of(bytes).includes(`\r\n--${BOUNDARY}`));

function concatenate(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  pieces.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

function utf8Of(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield await Promise.resolve(bytes.slice(at, at + size));
    at += size;
  }
}

Deno.test("fields are read unchanged for any chunk borders, read or skipped", async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
  const fields = fc.array(fc.record({ content, read: fc.boolean() }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fields, sizes, async (fields, sizes) => {
      const lines = fields.flatMap(({ content }, at) => [
        utf8.encode(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${at}"\r\n\r\n`),
        content,
        utf8.encode("\r\n"),
      ]);
      const form = concatenate([...lines, utf8.encode(`--${BOUNDARY}--\r\n`)]);
      const came: (Uint8Array | undefined)[] = [];
      for await (const { name, bytes } of partsOf(cut(form, sizes), BOUNDARY)) {
        assert.equal(name, String(came.length));
        const read = fields[came.length]?.read;
        came.push(read ? concatenate(await Array.fromAsync(bytes)) : undefined);
      }
      assert.deepEqual(came, fields.map(({ content, read }) => read ? content : undefined));
    }),
    { numRuns: 500 },
  );
});

Deno.test("leaving the loop early cancels the body", async () => {
  let over = false;
  async function* body() {
    try {
      yield utf8.encode(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="a"\r\n\r\nx`);
      yield await Promise.resolve(utf8.encode("never asked for"));
    } finally {
      over = true;
    }
  }
  for await (const _ of partsOf(body(), BOUNDARY)) break;
  assert.equal(over, true);
});

// deno-fmt-ignore
const BOUNDARIES: readonly [type: string, boundary: string | undefined][] = [
  ["multipart/form-data; boundary=b",                    "b"],
  ["Multipart/Form-Data;charset=utf-8;  BOUNDARY=b-1",   "b-1"],
  ['multipart/form-data; boundary="a b"; x=y',           "a b"],
  ["multipart/form-data; boundary=b; charset=utf-8",     "b"],
  ["multipart/form-data",                                undefined],
  ["multipart/form-data; boundary=",                     undefined],
  ["multipart/form-data; xboundary=b",                   undefined],
  ["multipart/mixed; boundary=b",                        undefined],
  [`multipart/form-data; boundary="${"b".repeat(71)}"`,  undefined],
];
for (const [type, boundary] of BOUNDARIES) {
  Deno.test(`the boundary of ${type.slice(0, 60)} is ${boundary ?? "none"}`, () => {
    assert.equal(boundaryOf(type), boundary);
  });
}
