import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { migrations } from "../../../../daemon/app/migrations/migrations.ts";
import {
  MACHINES_MAX,
  MachineTrust,
  TOUCH_MS_MIN,
} from "../../../../daemon/machines/trust/machine_trust.ts";
import { PinnedSeal } from "../../../../daemon/machines/trust/seal.ts";
import * as rows from "../../../../daemon/machines/store.ts";
import { cardToWire, fingerprintOf } from "../../../../daemon/machines/trust/cards.ts";
import { FakeClock } from "../../../support/clock.ts";
import {
  CARD_AT,
  makeMachine,
  makeNetwork,
  type TrustedMachine,
} from "../../../support/machines/trusted_machines.ts";

const NETWORK = makeNetwork();
const OWN = makeMachine(NETWORK, { name: "laptop" });
const B = makeMachine(NETWORK, { name: "buildbox" });

/** The trust of the machine `laptop`, with an empty database. */
function fixture(reserved: readonly string[] = []) {
  const clock = new FakeClock();
  const db = new Database(":memory:", migrations, jsonLog(clock, "error", () => {}), clock);
  const trust = new MachineTrust({ db, clock }, { network: NETWORK, own: OWN.card, reserved });
  const receiveValue = (given: unknown) => db.transact((tx) => trust.receive(tx, given));
  return {
    clock,
    db,
    trust,
    receiveValue,
    receive: ({ card }: TrustedMachine) => receiveValue(cardToWire(card)),
    /** The refusal of a card. */
    refusalOf(given: unknown) {
      const result = receiveValue(given);
      assert.ok(result.outcome === "refused", result.outcome);
      return result.refusal;
    },
    forget: (id: string) => db.transact((tx) => trust.forget(tx, id)),
    touch: (id: string) => db.transact((tx) => trust.touch(tx, id)),
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

Deno.test("the first card of a machine is pinned, and then known", () => {
  using at = fixture();
  const { daemon_id, card } = B;
  const pinned_at = at.clock.now();
  const machine = { daemon_id, name: "buildbox", card, pinned_at, last_seen: null };
  assert.deepEqual(at.receive(B), { outcome: "pinned", machine });
  assert.deepEqual(at.receive(B), { outcome: "known", machine });
  assert.deepEqual(at.trust.list(), [machine]);
  assert.deepEqual(at.trust.get(daemon_id), machine);
});

Deno.test("a machine is found by its id and by its name in any case", () => {
  using at = fixture();
  at.receive(B);
  for (const given of [B.daemon_id, "buildbox", "BuildBox"]) {
    assert.equal(at.trust.find(given)?.daemon_id, B.daemon_id, given);
  }
  assert.equal(at.trust.find("build"), undefined);
});

Deno.test("machines are listed by name", () => {
  using at = fixture();
  for (const name of ["zoo", "Attic", "desk"]) at.receive(makeMachine(NETWORK, { name }));
  assert.deepEqual(at.trust.list().map(({ name }) => name), ["Attic", "desk", "zoo"]);
});

Deno.test("other keys of a pinned machine are refused with both fingerprints", () => {
  using at = fixture();
  at.receive(B);
  const imitation = makeMachine(NETWORK, {
    name: "buildbox",
    daemon_id: B.daemon_id,
    created_at: CARD_AT + 1,
  });
  const { reason, daemon_id, detail, hint } = at.refusalOf(cardToWire(imitation.card));
  assert.deepEqual([reason, daemon_id], ["keys_changed", B.daemon_id]);
  assert.ok(detail.includes(`was ${fingerprintOf(B.card)}, and is now`), detail);
  assert.ok(detail.endsWith(fingerprintOf(imitation.card)), detail);
  assert.match(hint, new RegExp(`mesh machines forget ${B.daemon_id}`));
  assert.deepEqual(at.trust.get(B.daemon_id)?.card, B.card);
});

for (const key of ["sign", "agree"] as const) {
  Deno.test(`a card that changes only the key "${key}" is refused`, () => {
    using at = fixture();
    at.receive(B);
    const { keys } = makeMachine(NETWORK);
    const mixed = { ...B.keys, [key]: keys[key] };
    const changed = makeMachine(NETWORK, {
      daemon_id: B.daemon_id,
      name: "buildbox",
      keys: { ...mixed, public: { ...B.keys.public, [key]: keys.public[key] } },
    });
    assert.equal(at.refusalOf(cardToWire(changed.card)).reason, "keys_changed");
  });
}

Deno.test("a forgotten machine is pinned again, whatever its keys", () => {
  using at = fixture();
  at.receive(B);
  assert.equal(at.forget(B.daemon_id), true);
  assert.equal(at.forget(B.daemon_id), false);
  assert.deepEqual(at.trust.list(), []);
  const again = makeMachine(NETWORK, { name: "buildbox", daemon_id: B.daemon_id });
  assert.equal(at.receive(again).outcome, "pinned");
});

Deno.test("a new machine may have the name of one that was forgotten", () => {
  using at = fixture();
  const successor = makeMachine(NETWORK, { name: "buildbox" });
  at.receive(B);
  assert.equal(at.refusalOf(cardToWire(successor.card)).reason, "name_taken");
  at.forget(B.daemon_id);
  assert.equal(at.receive(successor).outcome, "pinned");
  assert.equal(at.trust.find("buildbox")?.daemon_id, successor.daemon_id);
});

Deno.test("a name of another machine is refused in any case, and names the holder", () => {
  using at = fixture();
  at.receive(B);
  const { reason, detail, hint } = at.refusalOf(
    cardToWire(makeMachine(NETWORK, { name: "BUILDBOX" }).card),
  );
  assert.equal(reason, "name_taken");
  assert.match(detail, new RegExp(`"BUILDBOX" of dm-\\w+ belongs to ${B.daemon_id}`));
  assert.match(hint, /mesh\.bus\.name/);
  assert.equal(at.trust.list().length, 1);
});

Deno.test("the name of this machine is refused", () => {
  using at = fixture();
  const { reason, detail } = at.refusalOf(
    cardToWire(makeMachine(NETWORK, { name: "Laptop" }).card),
  );
  assert.equal(reason, "name_taken");
  assert.ok(detail.includes(OWN.daemon_id));
});

Deno.test("a newer card with the same keys gives the machine its new name", () => {
  using at = fixture();
  at.receive(B);
  const renamed = makeMachine(NETWORK, { ...B, name: "forge", created_at: CARD_AT + 1 });
  const result = at.receive(renamed);
  assert.ok(result.outcome === "renewed");
  assert.equal(result.machine.name, "forge");
  assert.equal(at.trust.find("forge")?.daemon_id, B.daemon_id);
  assert.equal(at.trust.find("buildbox"), undefined);
});

Deno.test("an older card that is shown again changes nothing", () => {
  using at = fixture();
  at.receive(makeMachine(NETWORK, { ...B, name: "forge", created_at: CARD_AT + 1 }));
  const result = at.receive(B);
  assert.ok(result.outcome === "known");
  assert.equal(result.machine.name, "forge");
  assert.equal(at.trust.get(B.daemon_id)?.name, "forge");
});

Deno.test("a pinned machine cannot take the name of another one, and keeps its own", () => {
  using at = fixture();
  at.receive(B);
  const c = makeMachine(NETWORK, { name: "desk" });
  at.receive(c);
  const renamed = makeMachine(NETWORK, { ...c, name: "buildbox", created_at: CARD_AT + 1 });
  assert.equal(at.refusalOf(cardToWire(renamed.card)).reason, "name_taken");
  assert.equal(at.trust.get(c.daemon_id)?.name, "desk");
});

Deno.test("a known machine cannot take a name with rights, which its holder has given up", () => {
  using at = fixture(["BuildBox"]);
  at.receive(B);
  const c = makeMachine(NETWORK, { name: "desk" });
  at.receive(c);
  at.receive(makeMachine(NETWORK, { ...B, name: "forge", created_at: CARD_AT + 1 }));
  const thief = makeMachine(NETWORK, { ...c, name: "buildbox", created_at: CARD_AT + 2 });
  const { reason, hint } = at.refusalOf(cardToWire(thief.card));
  assert.equal(reason, "name_reserved");
  assert.match(hint, /mesh machines forget dm-/);
  assert.equal(at.trust.get(c.daemon_id)?.name, "desk");
  at.forget(c.daemon_id);
  assert.equal(at.receive(thief).outcome, "pinned");
});

Deno.test("the card of this machine is not pinned, and other keys under its id are refused", () => {
  using at = fixture();
  assert.deepEqual(at.receive(OWN), { outcome: "self" });
  const clone = makeMachine(NETWORK, { name: "clone", daemon_id: OWN.daemon_id });
  assert.equal(at.refusalOf(cardToWire(clone.card)).reason, "keys_changed");
  assert.deepEqual(at.trust.list(), []);
});

Deno.test("a card that is not authentic pins nothing, and its refusal says what to do", () => {
  using at = fixture();
  const foreign = makeMachine(makeNetwork());
  const mixed = makeMachine(NETWORK, { keys: { ...foreign.keys, public: B.keys.public } });
  const refusals = [null, cardToWire(foreign.card), cardToWire(mixed.card)].map(at.refusalOf);
  assert.deepEqual(
    refusals.map(({ reason, daemon_id }) => [reason, daemon_id]),
    [["malformed", null], ["not_of_network", foreign.daemon_id], ["not_signed", mixed.daemon_id]],
  );
  for (const { detail, hint } of refusals) assert.ok(detail.length > 20 && hint.length > 20);
  assert.deepEqual(at.trust.list(), []);
});

Deno.test("messages of others do not cause the refusal of a pinned machine", () => {
  using at = fixture();
  at.receive(B);
  at.refusalOf({ ...cardToWire(B.card), name: "other" });
  assert.equal(at.receive(B).outcome, "known");
});

Deno.test("the number of pinned machines is limited, and pinned machines stay known", () => {
  using at = fixture();
  at.receive(B);
  at.db.transact((tx) => {
    const machine = { card: B.card, pinned_at: 0, last_seen: null };
    for (let n = 1; n < MACHINES_MAX; n++) {
      rows.pin(tx, { ...machine, daemon_id: `dm-${n}`, name: `machine-${n}` });
    }
  });
  const refusal = at.refusalOf(cardToWire(makeMachine(NETWORK, { name: "late" }).card));
  assert.equal(refusal.reason, "too_many");
  assert.equal(at.receive(B).outcome, "known");
  at.forget("dm-1");
  assert.equal(at.receive(makeMachine(NETWORK, { name: "late" })).outcome, "pinned");
});

Deno.test("the last sign of a machine is recorded at most once a minute", async () => {
  using at = fixture();
  at.receive(B);
  const lastSeen = () => at.trust.get(B.daemon_id)?.last_seen;
  const first = at.clock.now();
  at.touch(B.daemon_id);
  await at.clock.advance(TOUCH_MS_MIN - 1);
  at.touch(B.daemon_id);
  assert.equal(lastSeen(), first);
  await at.clock.advance(1);
  at.touch(B.daemon_id);
  assert.equal(lastSeen(), first + TOUCH_MS_MIN);
  at.touch("dm-ffffffffffff");
  assert.equal(at.trust.list().length, 1);
});

Deno.test("a seal uses the pinned keys, and follows when a machine is forgotten", () => {
  using at = fixture();
  const seal = new PinnedSeal(at.db, OWN.envelopes);
  const bytes = new Uint8Array([1, 2, 3]);
  const unknown = { code: "unknown_machine_name", fields: { machine: B.daemon_id } };
  assert.throws(() => seal.seal(B.daemon_id, "batch", bytes), unknown);
  const fromB = B.envelopes.sealFor(OWN.card, "batch", bytes);
  assert.equal(seal.open(B.daemon_id, "batch", fromB), null);
  at.receive(B);
  const sealed = seal.seal(B.daemon_id, "batch", bytes);
  assert.deepEqual(B.envelopes.openFrom(OWN.card, "batch", sealed), bytes);
  assert.deepEqual(seal.open(B.daemon_id, "batch", fromB), bytes);
  assert.equal(seal.open(B.daemon_id, "call 1", fromB), null);

  at.forget(B.daemon_id);
  assert.equal(seal.open(B.daemon_id, "batch", fromB), null);
  assert.throws(() => seal.seal(B.daemon_id, "batch", bytes), unknown);
  const again = makeMachine(NETWORK, { name: "buildbox", daemon_id: B.daemon_id });
  at.receive(again);
  assert.equal(seal.open(B.daemon_id, "batch", fromB), null);
  const fromAgain = again.envelopes.sealFor(OWN.card, "batch", bytes);
  assert.deepEqual(seal.open(B.daemon_id, "batch", fromAgain), bytes);
});
