import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import {
  cardToWire,
  checkCard,
  fingerprintOf,
  MachineName,
  signCard,
} from "../../../../daemon/machines/trust/cards.ts";
import { makeMachineKeys } from "../../../../daemon/machines/trust/keys.ts";
import { CARD_AT, makeMachine, makeNetwork } from "../../../support/machines/trusted_machines.ts";

const NETWORK = makeNetwork();
const MACHINE = makeMachine(NETWORK, { name: "buildbox", daemon_id: "dm-00000000000a" });
const wire = cardToWire(MACHINE.card);

/** The reason for which a card is refused, or "ok". */
const reasonOf = (given: unknown, network = NETWORK) => {
  const checked = checkCard(given, network);
  return checked.ok ? "ok" : checked.reason;
};

Deno.test("a signed card passes through JSON and is accepted", () => {
  const checked = checkCard(JSON.parse(JSON.stringify(wire)), NETWORK);
  assert.deepEqual(checked, { ok: true, card: MACHINE.card });
  assert.equal(wire.created_at, "2030-01-01T00:00:00.000Z");
});

Deno.test("a card of another network is refused", () => {
  assert.equal(reasonOf(wire, makeNetwork()), "not_of_network");
});

for (const field of ["daemon_id", "name", "sign", "agree", "created_at", "proof"] as const) {
  Deno.test(`a card whose ${field} is that of another card is refused`, () => {
    const other = cardToWire(makeMachine(NETWORK, { created_at: CARD_AT + 1 }).card);
    assert.equal(reasonOf({ ...wire, [field]: other[field] }), "not_of_network");
  });
}

Deno.test("a card that a holder of the network secret signs with other keys is refused", () => {
  const thief = makeMachineKeys(randomIds);
  const { daemon_id, name } = MACHINE.card;
  const mixed = { ...thief, public: MACHINE.keys.public };
  const forged = signCard({ daemon_id, name, created_at: CARD_AT }, mixed, NETWORK);
  assert.equal(reasonOf(cardToWire(forged)), "not_signed");
});

Deno.test("a card with any changed character is refused", () => {
  const fields = fc.constantFrom(...Object.keys(wire) as (keyof typeof wire)[]);
  fc.assert(fc.property(fields, fc.nat(), fc.string({ minLength: 1, maxLength: 1 }), (
    field,
    place,
    character,
  ) => {
    const text = wire[field];
    const at = place % text.length;
    const changed = text.slice(0, at) + character + text.slice(at + 1);
    fc.pre(Date.parse(changed) !== CARD_AT && changed !== text);
    assert.notEqual(reasonOf({ ...wire, [field]: changed }), "ok");
  }));
});

// deno-fmt-ignore
const MALFORMED: readonly (readonly [what: string, change: object, summary: RegExp])[] = [
  ["no id of a daemon",        { daemon_id: "dm-1" },            /^daemon_id: Not the id of a daemon/],
  ["a name with a space",      { name: "build box" },            /^name: /],
  ["a name like an id",        { name: "dm-00000000000b" },      /^name: .*does not begin with "dm-"/],
  ["a short key",              { sign: "AAAA" },                 /^sign: Must be 32 bytes/],
  ["a key in a second spelling", { agree: `${"A".repeat(42)}B` }, /^agree: Must be 32 bytes/],
  ["a key of low order",       { agree: "A".repeat(43) },        /^agree: .*low order/],
  ["a number for a signature", { signature: 7 },                 /^signature: /],
  ["no proof",                 { proof: undefined },             /^proof: /],
];

for (const [what, change, summary] of MALFORMED) {
  Deno.test(`a card with ${what} is malformed, and the summary names the field`, () => {
    const checked = checkCard({ ...wire, ...change }, NETWORK);
    assert.ok(!checked.ok && checked.reason === "malformed");
    assert.match(checked.summary, summary);
  });
}

Deno.test("every invalid value is refused without an exception", () => {
  fc.assert(fc.property(fc.anything(), fc.constantFrom(...Object.keys(wire)), (value, field) => {
    assert.equal(reasonOf(value), "malformed");
    fc.pre(typeof value !== "string");
    assert.equal(reasonOf({ ...wire, [field]: value }), "malformed");
  }));
});

Deno.test("fields that nobody signed are dropped", () => {
  const checked = checkCard({ ...wire, admin: true }, NETWORK);
  assert.ok(checked.ok);
  assert.ok(!("admin" in checked.card));
});

Deno.test("a fingerprint has 8 groups of 4 digits, and depends on both keys", () => {
  const { sign, agree } = MACHINE.card;
  assert.match(fingerprintOf(MACHINE.card), /^[0-9a-f]{4}( [0-9a-f]{4}){7}$/);
  const other = makeMachine(NETWORK).card;
  assert.notEqual(fingerprintOf({ sign: other.sign, agree }), fingerprintOf(MACHINE.card));
  assert.notEqual(fingerprintOf({ sign, agree: other.agree }), fingerprintOf(MACHINE.card));
  assert.equal(
    fingerprintOf({ sign: "A".repeat(43), agree: "A".repeat(43) }),
    "f5a5 fd42 d16a 2030 2798 ef6e d309 979b", // The SHA-256 of 64 zero bytes.
  );
});

Deno.test("the name of a machine is a name, and looks like no id of a daemon", () => {
  for (const name of ["buildbox", "Sam-2.local", "dm", "admin"]) {
    assert.ok(MachineName.safeParse(name).success, name);
  }
  for (const name of ["", "a b", "a@b", "dm-00000000000b", "DM-x", "a".repeat(65), "büro"]) {
    assert.ok(!MachineName.safeParse(name).success, name);
  }
});
