/** A short, seeded run of every fuzzer; `deno task fuzz` runs longer, and with other seeds. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parser, runTarget } from "./target.ts";
import { TARGETS } from "./targets.ts";

const SEED = 15;
const MS_MAX = 20_000;

for (const target of TARGETS) {
  Deno.test(`hostile input is answered or refused, and does no harm: ${target.name}`, async () => {
    let inputs = 0;
    const options = { seed: SEED, inputs: target.inputs, ms_max: MS_MAX, count: () => inputs++ };
    const finding = await runTarget(target, options);
    assert.equal(finding?.message, undefined);
    assert.ok(inputs > 0, "Nothing was tried");
  });
}

const count = () => undefined;
const run = (check: (input: number) => unknown) =>
  runTarget(parser("a parser", fc.nat(9), check), {
    seed: SEED,
    inputs: 50,
    ms_max: MS_MAX,
    count,
  });

Deno.test("a fuzzer reports an input that throws, with the smallest one", async () => {
  const finding = await run((input) => assert.ok(input < 5, "Too large"));
  assert.match(finding?.message ?? "", /Counterexample: \[5\][^]*Too large/);
});

Deno.test("a fuzzer reports a rejection that nobody handles", async () => {
  const finding = await run(async () => {
    void Promise.reject(new Error("Nobody waits for this"));
    await new Promise((resolve) => setImmediate(resolve));
  });
  assert.match(finding?.message ?? "", /Unhandled rejection: Error: Nobody waits for this/);
});
