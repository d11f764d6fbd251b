/** Verbs that send messages across machines. */

import type { Answer } from "../../daemon/daemon_runs.ts";
import { identOf } from "../../daemon/snapshot.ts";
import type { MachinesStorm } from "../machines_storm.ts";
import type { StormMachine } from "../storm_machine.ts";

/** 1 in this many messages stays on its machine. */
const LOCAL_CHANCES = 10;

export async function send(
  storm: MachinesStorm,
  kind: "ask" | "notify",
  more: Record<string, unknown> = {},
  from: StormMachine = storm.anyMachine(),
): Promise<string | undefined> {
  const text = storm.nextText();
  const from_peer = anyName(storm, from);
  const body = { from_peer, to_peer: anyRecipient(storm, from), text, ...more };
  return recordAccepted(from, await from.post(`/${kind}`, body), text);
}

/** Records a message that was answered with 200: it must never be lost. Returns its id. */
function recordAccepted(
  machine: StormMachine,
  answer: Answer,
  text: string,
): string | undefined {
  const id = answer["correlation_id"] ?? answer["delivery_id"];
  if (answer.http !== 200 || typeof id !== "string" || "error" in answer) return undefined;
  machine.accepted.set(identOf(id), text);
  return id;
}

function anyName({ chance }: MachinesStorm, { actors, agents }: StormMachine): string {
  return chance.pick([...actors, ...agents]).name;
}

/** A peer by its name and machine, by its id, or by its bare name; seldom the human or nobody. */
function anyRecipient(storm: MachinesStorm, from: StormMachine): string {
  const { chance, machines } = storm;
  const others = machines.filter((machine) => machine !== from);
  const to = chance.oneIn(LOCAL_CHANCES) ? from : chance.pick(others);
  const { name, peer_id } = chance.pick([...to.actors, ...to.agents]);
  return chance.pick([
    `${name}@${to.name}`,
    `${name}@${to.name}`,
    `${name}@${to.daemon_id}`,
    name,
    peer_id ?? name,
    chance.pick(["sam@laptop", "sam", "nobody@buildbox"]),
  ]);
}

/** Follows up on an ask that came from, or went to, another machine. */
export async function followUp(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const asks = [...machine.before.values()].filter(({ kind, machine }) =>
    kind === "ask" && machine !== null
  );
  if (asks.length === 0) return;
  const { ident, sent, from_peer_id, to_peer_id } = storm.chance.pick(asks.slice(-6));
  const [from, to] = sent ? [from_peer_id, to_peer_id] : [to_peer_id, from_peer_id];
  if (from === null || to === null) return;
  const more = { reply_to: `ask-${ident}`, from_peer: from, to_peer: to };
  await send(storm, "ask", more, machine);
}

export async function broadcast(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const text = storm.nextText();
  const answer = await machine.post("/broadcast", { from_peer: anyName(storm, machine), text });
  for (const { delivery_id } of (answer["sent_to"] ?? []) as { delivery_id: string }[]) {
    machine.accepted.set(identOf(delivery_id), text);
  }
}

/** Many messages in one turn: they share commits and batches. */
export async function burst(storm: MachinesStorm): Promise<void> {
  const from = storm.anyMachine();
  const kinds = ["ask", "notify"] as const;
  await Promise.all(
    Array.from({ length: 12 }, () => send(storm, storm.chance.pick(kinds), {}, from)),
  );
}
