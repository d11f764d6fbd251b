import assert from "node:assert/strict";
import { MASK, maskSecrets } from "../../../../../daemon/features/agents/sessions/secrets.ts";

/** Forms of secrets; each is written in two parts, so that no scanner takes it for a real one. */
const SECRETS = [
  ["sk-ant-", "api03-0123456789abcdefghij"],
  ["sk-proj-", "0123456789abcdefghij"],
  ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"],
  ["github_pat_", "11ABCDEFG0123456789_abcdefghij"],
  ["glpat-", "0123456789abcdefghij"],
  ["xoxb-", "123456789012-abcdefghijkl"],
  ["AKIA", "IOSFODNN7EXAMPLE"],
  ["AIza", "SyA0123456789abcdefghijklmnopqrstuv"],
  ["mesh_sk_", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"],
  ["eyJhbGciOiJI", "UzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"],
].map((parts) => parts.join(""));

Deno.test("tokens of known forms are masked wherever they stand", () => {
  for (const secret of SECRETS) {
    for (const text of [secret, `use ${secret}, then go`, `{"k":"${secret}"}`, `A=${secret}\nb`]) {
      const { text: shown, masked } = maskSecrets(text, []);
      assert(!shown.includes(secret.slice(4, 14)), shown);
      assert(shown.includes(MASK) && masked >= 1, shown);
    }
  }
});

Deno.test("a private key is masked as a whole, also if its end is missing", () => {
  const [begin, end] = ["-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"];
  const whole = maskSecrets(`before\n${begin}\nMIIE\nabc\n${end}\nafter`, []);
  assert.deepEqual(whole, { text: `before\n${MASK}\nafter`, masked: 1 });
  assert.equal(maskSecrets(`before\n${begin}\nMIIE`, []).text, `before\n${MASK}`);
  const json = JSON.stringify({ key: `${begin}\nMIIE\n${end}` });
  assert.equal(maskSecrets(json, []).text, `{"key":"${MASK}"}`);
});

Deno.test("what is named as a secret is masked, and its name is kept", () => {
  const cases = {
    "password=hunter22": `password=${MASK}`,
    "DB_PASSWORD: 'hunter22'": `DB_PASSWORD: '${MASK}'`,
    '{"api_key": "abcd1234"}': `{"api_key": "${MASK}"}`,
    '{\\"token\\":\\"abcd1234\\"}': `{\\"token\\":\\"${MASK}\\"}`,
    "Authorization: Bearer abcdef123456": `Authorization: Bearer ${MASK}`,
    "postgres://api:hunter22@db/main": `postgres://api:${MASK}@db/main`,
  };
  for (const [text, shown] of Object.entries(cases)) {
    assert.deepEqual(maskSecrets(text, []), { text: shown, masked: 1 });
  }
});

Deno.test("ordinary text is left as it is", () => {
  for (
    const text of [
      "input_tokens: 41230, output_tokens: 512",
      "token: string; password: null; secret = process.env.SECRET",
      "export API_KEY=$OPENAI_KEY",
      "the bearer of news, the basic idea",
      "see https://example.com:8080/path and task-1234567890abcdef",
      "AKIA is the beginning of a key",
    ]
  ) {
    assert.deepEqual(maskSecrets(text, []), { text, masked: 0 });
  }
});

Deno.test("a known value is masked whatever its form, and too short a value is not", () => {
  const known = ["correct horse", "correct horse battery", "abc"];
  const { text, masked } = maskSecrets("correct horse battery, correct horse, abc", known);
  assert.deepEqual([text, masked], [`${MASK}, ${MASK}, abc`, 2]);
});
