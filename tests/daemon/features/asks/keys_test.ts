/** The keys of `/ask`: any case matches, and look-alikes of `to_peer` are refused. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { foldAskKeys, foldNamedAskKeys, refuseRepeatedKeys } from "protocol/asks/body_keys.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, Problem } from "protocol/problems.ts";

/** A word with each letter in either case. */
function inAnyCase(letters: string): fc.Arbitrary<string> {
  return fc.array(fc.boolean(), { minLength: letters.length, maxLength: letters.length }).map((
    upper,
  ) => [...letters].map((letter, at) => upper[at] ? letter.toUpperCase() : letter).join(""));
}

/** Characters that are not letters. */
const separator = fc.string({
  unit: fc.constantFrom("_", "-", " ", ".", ":", "/", "0", "7", "\t", "\u00a0", "~", "💥"),
  maxLength: 3,
});

/** The letters of `to_peer` with other characters between them. */
const similarName = fc.tuple(
  inAnyCase("topeer"),
  fc.array(separator, { minLength: 7, maxLength: 7 }),
)
  .map(([letters, gaps]) => gaps.map((gap, at) => gap + (letters[at] ?? "")).join(""))
  .filter((key) => key.toLowerCase() !== "to_peer");

function refusalOf(fold: (body: unknown) => unknown, body: unknown): Problem | undefined {
  try {
    fold(body);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
}

Deno.test("to_peer in any case names the target, under every strategy", () => {
  fc.assert(fc.property(inAnyCase("to_peer"), fc.string({ minLength: 1 }), (key, peer) => {
    fc.pre(peer.trim() !== "");
    for (const fold of [foldAskKeys, foldNamedAskKeys]) {
      assert.deepEqual(fold({ [key]: peer }), { to_peer: peer });
    }
  }));
});

Deno.test("every look-alike of to_peer is refused with its own spelling, with or without a to_peer", () => {
  fc.assert(fc.property(similarName, fc.boolean(), (key, beside) => {
    const body = { ...(beside && { to_peer: "bob" }), [key]: "bob" };
    for (const fold of [foldAskKeys, foldNamedAskKeys]) {
      const refusal = refusalOf(fold, body);
      assert.ok(refusal && isProblem(refusal, "unknown_key"));
      assert.equal(refusal.toBody()["key"], key);
      assert.match(refusal.toBody().hint ?? "", /to_peer/);
    }
  }));
});

Deno.test("styled letters are look-alikes, too; other words are not", () => {
  for (const key of ["ｔｏＰｅｅｒ", "tó_peer", "𝐭𝐨_peer"]) {
    assert.equal(refusalOf(foldAskKeys, { [key]: "bob" })?.code, "unknown_key", key);
  }
  for (const key of ["to", "peer", "to_peers", "to_peer_id", "recipient", "topper"]) {
    assert.deepEqual(foldAskKeys({ [key]: 1 }), { [key]: 1 });
  }
});

Deno.test("two keys that fold to one are refused", () => {
  fc.assert(
    fc.property(fc.constantFrom("to_peer", "text", "from_peer", "fallback_to"), (letters) => {
      for (const key of [letters.toUpperCase(), letters.replace("t", "T")]) {
        fc.pre(key !== letters);
        const refusal = refusalOf(foldAskKeys, { [letters]: "bob", [key]: "bob" });
        assert.equal(refusal?.code, "repeated_key");
      }
    }),
  );
});

Deno.test("only an absent to_peer is no_target; a null or blank one is an unknown peer", () => {
  const blank = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\u00a0"), maxLength: 5 });
  fc.assert(fc.property(fc.option(blank), (to_peer) => {
    for (const fold of [foldAskKeys, foldNamedAskKeys]) {
      assert.equal(refusalOf(fold, { to_peer })?.code, "unknown_peer");
    }
  }));
  assert.equal(refusalOf(foldNamedAskKeys, {})?.code, "no_target");
  assert.deepEqual(foldAskKeys({}), {});
});

Deno.test("folding fails for no body except by a refusal", () => {
  fc.assert(fc.property(fc.jsonValue(), (body) => {
    refusalOf(foldAskKeys, body);
    refusalOf(foldNamedAskKeys, body);
  }));
});

/** A key of an object, as JSON may write it. */
const writtenKey = fc.tuple(
  fc.constantFrom("a", "b", '"', "\\", '\\"', "é", "{", "to_peer"),
  fc.boolean(),
)
  .map(([key, isEscaped]) => {
    const plain = JSON.stringify(key);
    if (!isEscaped) return { key, written: plain };
    const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return { key, written: `"${Array.from(key, escape).join("")}"` };
  });

const space = fc.constantFrom("", " ", "\n", "\r\t ");

Deno.test("a key that is repeated at the top is refused, however it is written, and no other text is", () => {
  const member = fc.tuple(writtenKey, space, space, fc.json({ maxDepth: 3 }));
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), (members) => {
      const text = `{${
        members.map(([{ written }, before, after, value]) => `${written}${before}:${after}${value}`)
          .join(", ")
      }}`;
      JSON.parse(text);
      const keys = members.map(([{ key }]) => key);
      const repeated = keys.find((key, at) => keys.indexOf(key) < at);
      const refused = refusalOf(() => refuseRepeatedKeys(text), {});
      assert.equal(refused?.fields && Reflect.get(refused.fields, "key"), repeated);
    }),
    { numRuns: 500 },
  );
  fc.assert(fc.property(fc.json(), (text) => {
    assert.equal(refusalOf(() => refuseRepeatedKeys(text), {}), undefined);
  }));
});
