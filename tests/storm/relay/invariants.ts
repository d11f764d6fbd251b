/** Invariants of the relay: what a client was told is true, and stays within its account. */

import assert from "node:assert/strict";
import type { SentMessage } from "./calls.ts";
import type { RelayInvariant, RelayStorm } from "./relay_storm.ts";
import type { RemoteDaemon } from "./remote_daemon.ts";

export const RELAY_INVARIANTS: readonly RelayInvariant[] = [
  { name: "no error has ended a process", check: ({ uncaught }) => uncaught.check() },
  { name: "a client reads its own requests and replies only", check: checkAnswers },
  { name: "a client is told the truth about its message", check: checkOutcomes },
  { name: "only the named machine of the client's account has the message", check: checkPlaces },
  { name: "every message has the identity of its sender", check: checkSenders },
  { name: "no link that passes nothing is held for long", check: checkFrozen },
];

function checkAnswers({ wrongAnswers }: RelayStorm): void {
  const [first] = wrongAnswers.splice(0);
  if (first !== undefined) throw first;
}

/** Two unanswered pings and the time until the third: at one end, then at the other. */
const FROZEN_SECONDS_MAX = 2 * (3 * 20 + 3);

function checkFrozen(storm: RelayStorm): void {
  storm.frozen = storm.frozen.filter(({ tunnel }) => tunnel.open);
  for (const { since } of storm.frozen) {
    const held = storm.seconds - since;
    assert.ok(held <= FROZEN_SECONDS_MAX, `a frozen link is open for ${held} s`);
  }
}

/** A message's ids in the table of each machine. */
function placesOf(storm: RelayStorm, { text }: SentMessage) {
  return storm.daemons.flatMap((daemon) =>
    daemon.rows().filter((row) => row.text === text).map((row) => ({ daemon, row }))
  );
}

function checkOutcomes(storm: RelayStorm): void {
  for (const message of storm.sent) {
    const places = placesOf(storm, message);
    const { text, outcome } = message;
    assert.ok(places.length <= 1, `${text} was delivered ${places.length} times`);
    if (outcome.state === "not_delivered") {
      assert.equal(places.length, 0, `${text} was delivered, and the client told ${outcome.why}`);
    }
    if (outcome.state !== "accepted") continue;
    assert.equal(places.length, 1, `${text} was accepted, and is lost`);
    assert.equal(places[0]?.row.ident, outcome.id.split("-")[1], `${text} has another id`);
  }
}

function checkPlaces(storm: RelayStorm): void {
  for (const message of storm.sent) {
    for (const { daemon } of placesOf(storm, message)) {
      const { client, daemon_id, text } = message;
      assert.deepEqual([daemon.namespace, daemon.daemon_id], [client.namespace, daemon_id], text);
    }
  }
}

function checkSenders(storm: RelayStorm): void {
  for (const message of storm.sent) {
    const sender = message.key === undefined ? message.client.asker : "visitor";
    for (const { row } of placesOf(storm, message)) assert.equal(row.from_peer_name, sender);
  }
}

/** True if no call is under way, and every machine is connected. */
export function isHealed(storm: RelayStorm): boolean {
  return storm.running.size === 0 && storm.daemons.every((daemon) => isConnected(storm, daemon));
}

function isConnected({ relay }: RelayStorm, { namespace, daemon_id }: RemoteDaemon): boolean {
  return relay.relay.machines.list(namespace).some((machine) => machine.daemon_id === daemon_id);
}
