import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import { isProblem } from "protocol/problems.ts";
import {
  makeNetworkSecret,
  networkKeysOf,
  parseNetworkSecret,
} from "../../../../daemon/machines/trust/network.ts";

Deno.test("a new network secret has its form, is random, and is read back", () => {
  const secret = makeNetworkSecret(randomIds);
  assert.match(secret, /^mesh_net_[A-Za-z0-9_-]{43}$/);
  assert.notEqual(secret, makeNetworkSecret(randomIds));
  assert.equal(parseNetworkSecret(`  ${secret}\n`), secret);
});

// deno-fmt-ignore
const REFUSED: readonly (readonly [text: string, message: RegExp])[] = [
  ["",                                  /begins with "mesh_net_"/],
  [`mesh_rel_${"a".repeat(43)}`,        /begins with "mesh_net_"/],
  [`mesh_net_${"a".repeat(42)}`,        /43 characters, and here by 42/],
  [`mesh_net_${"a".repeat(44)}`,        /43 characters, and here by 44/],
  [`mesh_net_${"a".repeat(42)}=`,       /letters, digits, hyphens and underscores only/],
  [`mesh_net_${"a".repeat(20)} ${"a".repeat(22)}`, /letters, digits, hyphens and underscores only/],
];

for (const [text, message] of REFUSED) {
  Deno.test(`"${text}" is no network secret, and the refusal says why`, () => {
    assert.throws(() => parseNetworkSecret(text), (error) => {
      assert.ok(isProblem(error, "invalid_request"));
      assert.match(error.fields.summary, message);
      assert.match(error.fields.summary, /copy the whole secret/);
      return true;
    });
  });
}

Deno.test("a refusal never contains the refused text", () => {
  fc.assert(fc.property(fc.stringMatching(/^[A-Za-z0-9]{30,42}$/), (part) => {
    assert.throws(() => parseNetworkSecret(`mesh_net_${part}`), (error) => {
      assert.ok(isProblem(error, "invalid_request"));
      return !JSON.stringify(error.toBody()).includes(part);
    });
  }));
});

Deno.test("any text is read or refused with a problem", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assert.throws(() => parseNetworkSecret(text), (error) => isProblem(error, "invalid_request"));
  }));
});

Deno.test("the keys of a network are the same everywhere, and differ from each other", () => {
  const secret = makeNetworkSecret(randomIds);
  const keys = networkKeysOf(secret);
  assert.deepEqual(networkKeysOf(`${secret}\n`), keys);
  assert.notDeepEqual(keys.proof_key, keys.directory_key);
});

Deno.test("a secret with any other character gives other keys", () => {
  const secret = `mesh_net_${"A".repeat(43)}`;
  const keys = networkKeysOf(secret);
  for (let at = "mesh_net_".length; at < secret.length; at++) {
    const mistyped = `${secret.slice(0, at)}B${secret.slice(at + 1)}`;
    assert.notDeepEqual(networkKeysOf(mistyped).proof_key, keys.proof_key, mistyped);
  }
});
