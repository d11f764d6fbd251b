import assert from "node:assert/strict";
import { equalSecrets } from "kit/host/node_library.ts";

Deno.test("secrets are equal only if each character is, whatever their lengths", () => {
  const secrets = ["", "a", "aa", "aaa", "ab", "abab", "é", "\u00e9\u0100"];
  for (const given of secrets) {
    for (const expected of secrets) {
      assert.equal(equalSecrets(given, expected), given === expected, `${given}, ${expected}`);
    }
  }
});
