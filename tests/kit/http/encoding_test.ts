/** The choice of a content coding, and compressed JSON. */

import assert from "node:assert/strict";
import { codingFor, COMPRESSED_BYTES_MIN, compressJson } from "kit/http/encoding.ts";

// deno-fmt-ignore
const CHOICES: readonly [accepted: string | null, chosen: string][] = [
  [null,                              "identity"],
  ["",                                "identity"],
  ["gzip, deflate, br, zstd",         "br"],
  ["gzip",                            "gzip"],
  ["GZIP",                            "gzip"],
  ["x-gzip",                          "gzip"],
  ["deflate, zstd",                   "identity"],
  ["br;q=0.5, gzip;q=0.8",            "gzip"],
  ["br;q=0.5,gzip;q=0.5",             "br"],
  ["br;q=0, gzip;q=0",                "identity"],
  ["*",                               "br"],
  ["br;q=0, *",                       "gzip"],
  ["*;q=0",                           "identity"],
  ["gzip;q=0.2, identity;q=0.7",      "identity"],
  ["identity;q=0, gzip",              "gzip"],
  ["identity;q=0.5, *;q=0",           "identity"],
  ["gzip ; q = 0.3 , br ;q=0.2",      "gzip"],
  ["gzip;q=2",                        "identity"],
  ["gzip;q=0.1234, br;q=x",           "identity"],
];

for (const [accepted, chosen] of CHOICES) {
  Deno.test(`Accept-Encoding ${JSON.stringify(accepted)} leads to ${chosen}`, () => {
    assert.equal(codingFor(accepted), chosen);
  });
}

const LONG = { text: "a".repeat(COMPRESSED_BYTES_MIN) };

function compressed(answer: Response, accepted = "gzip"): Promise<Response> {
  const headers = { "accept-encoding": accepted };
  return compressJson(new Request("http://localhost", { headers }), answer);
}

async function unzip(answer: Response): Promise<string> {
  const stream = new Blob([await answer.bytes()]).stream();
  return await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).text();
}

Deno.test("JSON of a kilobyte is compressed for a caller that accepts it, and is the same", async () => {
  const answer = await compressed(
    Response.json(LONG, { headers: { "cache-control": "no-store" } }),
  );
  assert.equal(answer.headers.get("content-encoding"), "gzip");
  assert.equal(answer.headers.get("vary"), "accept-encoding");
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.deepEqual(JSON.parse(await unzip(answer)), LONG);
});

Deno.test("a shorter body, a refusal, and a caller that does not accept gzip are left alone", async () => {
  const cases = [
    await compressed(Response.json({ text: "short" })),
    await compressed(Response.json(LONG, { status: 404 })),
    await compressed(Response.json(LONG), "br"),
  ];
  for (const answer of cases) {
    assert.equal(answer.headers.get("content-encoding"), null);
    assert.equal(typeof (await answer.json()).text, "string");
  }
});
