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

Deno.test("a value named as a secret is masked, and its name is kept", () => {
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

Deno.test("a secret is masked to its end, whatever characters it has", () => {
  const cases = {
    "postgres://u:p@ssw0rd@host/db": `postgres://u:${MASK}@host/db`,
    '{"password":"a\\"bcdefg12345"}': `{"password":"${MASK}"}`,
    '{"password":"ends with \\\\","user":"bob"}': `{"password":"${MASK}","user":"bob"}`,
    'password: "correct horse battery", user: "bob"': `password: "${MASK}", user: "bob"`,
    "passphrase='correct horse battery' make": `passphrase='${MASK}' make`,
    "PASSWORD=Tr0ub(4dor)secretpart": `PASSWORD=${MASK}`,
    "PASSWORD=Tr0ub,4dor;secretpart make": `PASSWORD=${MASK} make`,
    "token=12345678": `token=${MASK}`,
    '"token": 1234,': `"token": ${MASK},`,
    "secret_key=abcdefgh12345": `secret_key=${MASK}`,
    "AWS_SECRET_ACCESS_KEY=abcd/efgh+12345": `AWS_SECRET_ACCESS_KEY=${MASK}`,
    "token=$ABCdef123realsecret": `token=${MASK}`,
    "password=process.env.X||hunter2hunter2": `password=${MASK}`,
    'secret = "not closed at the end': `secret = "${MASK}`,
    "secret = 'not closed\nnext line": `secret = '${MASK}\nnext line`,
    [JSON.stringify({ command: 'TOKEN="a b\\"c d" make' })]: JSON.stringify({
      command: `TOKEN="${MASK}" make`,
    }),
    [JSON.stringify({ body: JSON.stringify({ password: 'a"b c\\', user: "bob" }) })]: JSON
      .stringify({ body: JSON.stringify({ password: MASK, user: "bob" }) }),
    '{"command":"echo token=abcd1234"}': `{"command":"echo token=${MASK}"}`,
    '{"command":"echo \\"token=abcd1234\\""}': `{"command":"echo \\"token=${MASK}\\""}`,
  };
  for (const [text, shown] of Object.entries(cases)) {
    assert.deepEqual(maskSecrets(text, []), { text: shown, masked: 1 });
  }
  const part = ["ghp_", "0123456789abcdefghijABCDEFGHIJ"].join("");
  assert.equal(maskSecrets(`password=${part}!rest`, []).text, `password=${MASK}`);
  const known = maskSecrets('password: "known-part and the rest"', ["known-part"]);
  assert.equal(known.text, `password: "${MASK}"`);
});

Deno.test("ordinary text is left as it is", () => {
  for (
    const text of [
      "input_tokens: 41230, output_tokens: 512",
      "token: string; password: null; secret = process.env.SECRET",
      "export API_KEY=$OPENAI_KEY",
      "curl -H token:${TOKEN}; function read(token: string): void {}",
      'log("the token: " + name + " is read"); log("token: ", name, "is read")',
      "if (token === undefined) return; max_token: 512",
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
