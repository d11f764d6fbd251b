/** Invariants of each machine's ledger: nothing is lost, nothing is twice, nothing contradicts. */

import assert from "node:assert/strict";
import { identOf } from "../../daemon/snapshot.ts";
import type { MachinesInvariant, MachinesStorm } from "../machines_storm.ts";

export const LEDGER_INVARIANTS: readonly MachinesInvariant[] = [
  { name: "no error has ended a daemon", check: ({ uncaught }) => uncaught.check() },
  {
    name: "nothing was logged as an error",
    check: ({ machines }) => machines.forEach((machine) => machine.checkLog()),
  },
  { name: "no accepted message is lost", check: checkNothingLost },
  { name: "no message is applied twice", check: checkOnce },
  { name: "a closed ask stays closed as it is", check: checkClosed },
  { name: "an asker is told once that its ask is closed", check: checkAcks },
  { name: "what a peer received is in the ledger", check: checkReceived },
];

/** Checked after all others, because they send requests, during which the machines go on. */
export const REQUEST_INVARIANTS: readonly MachinesInvariant[] = [
  { name: "no delivery is unaccounted for", check: checkAudit },
  { name: "a wait returns what the record holds", check: checkWaits },
];

function checkNothingLost({ machines }: MachinesStorm): void {
  for (const { name, accepted, now } of machines) {
    const texts = new Map(now.map(({ ident, text }) => [ident, text]));
    for (const [ident, text] of accepted) assert.equal(texts.get(ident), text, `${ident} ${name}`);
  }
}

/** The texts of asks and notifies are each on one other machine at most, and there once. */
function checkOnce({ machines }: MachinesStorm): void {
  const arrived = new Set<string>();
  for (const { name, now } of machines) {
    const sent = new Set<string>();
    for (const { kind, text, to_peer_id, sent: isSent, ident } of now) {
      if (kind === "ack" || !/^sesame \d{6}$/.test(text)) continue;
      const key = `${kind} ${text} ${to_peer_id}`;
      const seen = isSent === 0 ? arrived : sent;
      assert.ok(!seen.has(key), `${ident} on ${name} is there twice: ${key}`);
      seen.add(key);
    }
  }
}

async function checkAudit({ clock, machines }: MachinesStorm): Promise<void> {
  for (const { name, w } of machines) {
    const { unaccounted } = await clock.during(w.daemon.deliveryAudit.audit());
    // A slow transport may take any time.
    const wrong = unaccounted.filter(({ problem }) => problem !== "attempting_too_long");
    assert.deepEqual(wrong, [], name);
  }
}

function checkClosed({ machines }: MachinesStorm): void {
  for (const { name, before, now } of machines) {
    for (const { ident, ask_state, close_reason, outcome, reply } of now) {
      const earlier = before.get(ident);
      if (earlier?.ask_state !== "closed") continue;
      assert.deepEqual(
        { ask_state, close_reason, outcome, reply },
        {
          ask_state: earlier.ask_state,
          close_reason: earlier.close_reason,
          outcome: earlier.outcome,
          reply: earlier.reply,
        },
        `${ident} on ${name}`,
      );
    }
  }
}

function checkAcks({ machines }: MachinesStorm): void {
  for (const { name, now } of machines) {
    const acks = Map.groupBy(
      now.filter(({ kind }) => kind === "ack"),
      ({ correlation_id, to_peer_id }) => `${correlation_id} ${to_peer_id}`,
    );
    for (const [key, { length }] of acks) assert.equal(length, 1, `${key} on ${name}`);
    for (const { kind, sent, ident, from_peer_id } of now) {
      if (kind !== "ask" || sent !== 0) continue;
      const told = acks.get(`ask-${ident} ${from_peer_id}`);
      assert.equal(told, undefined, `${ident} is told on ${name}, and not at its origin`);
    }
  }
}

function checkReceived({ machines }: MachinesStorm): void {
  for (const { name, received, now } of machines) {
    const known = new Set(now.map(({ ident }) => ident));
    for (const { texts } of received.values()) {
      for (const id of texts.keys()) assert.ok(known.has(identOf(id)), `${id} on ${name}`);
      const unique = [...texts.values()].filter((text) => /^\S+ sesame \d{6}$/.test(text));
      assert.equal(new Set(unique).size, unique.length, `A text came twice on ${name}`);
    }
  }
}

async function checkWaits({ machines }: MachinesStorm): Promise<void> {
  for (const machine of machines) {
    const known = new Map(machine.now.map((row) => [row.ident, row]));
    for (const wait of machine.waits.splice(0)) {
      const { id, answer, error, isOver } = wait;
      if (isOver) continue;
      if (error !== undefined) throw error;
      const isClosed = known.get(identOf(id))?.ask_state === "closed";
      if (answer === undefined) {
        assert.ok(!isClosed, `${id} is closed, and its wait goes on`);
        machine.waits.push(wait);
      } else if (answer["status"] === "resolved") {
        const record = await machine.get(`/asks/${id}`);
        for (const field of ["outcome", "reply", "close_reason", "responder", "closed_at"]) {
          assert.deepEqual(answer[field], record[field], `${field} of ${id}`);
        }
      }
    }
  }
}
