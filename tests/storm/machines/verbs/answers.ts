/** Verbs that answer, cancel and await asks of other machines. */

import type { MachinesStorm } from "../machines_storm.ts";
import { inboxItems, type Row } from "../rows.ts";
import type { StormMachine } from "../storm_machine.ts";
import { send } from "./messages.ts";

const WAIT_SECONDS = [0, 5, 45];

/** Mostly an open ask that came from, or went to, another machine; else any. */
function pickAsk(
  { chance }: MachinesStorm,
  machine: StormMachine,
  sent: boolean,
): Row | undefined {
  const asks = [...machine.before.values()].filter((row) =>
    row.kind === "ask" && row.sent === Number(sent)
  );
  const open = chance.oneIn(5) ? [] : asks.filter(({ ask_state }) => ask_state === "open");
  return chance.pick(open.length > 0 ? open : asks);
}

/** The recipient answers or declines an ask, as its machine knows it. */
export async function answer(storm: MachinesStorm, verb: "ack" | "decline"): Promise<void> {
  const machine = storm.anyMachine();
  const ask = pickAsk(storm, machine, false);
  if (ask) await answerAsk(storm, machine, ask, verb);
}

async function answerAsk(
  storm: MachinesStorm,
  machine: StormMachine,
  { ident }: Row,
  verb: "ack" | "decline",
): Promise<void> {
  const text = storm.nextText();
  const reply = verb === "decline"
    ? { reason: text }
    : storm.chance.oneIn(4)
    ? {}
    : { message: text };
  const known = await machine.post(`/${verb}`, { correlation_id: `ask-${ident}`, ...reply });
  const isAnswered = known.http === 200 && !("error" in known) && !machine.answered.has(ident);
  const isFirst = machine.before.get(ident)?.ask_state === "open";
  if (isAnswered && isFirst) machine.answered.set(ident, text);
}

/** The asker cancels its ask. */
export async function cancel(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const ask = pickAsk(storm, machine, true);
  if (ask) await cancelAsk(machine, ask);
}

async function cancelAsk(machine: StormMachine, ask: Row): Promise<void> {
  const peer_id = ask.from_peer_id ?? ask.from_peer_name;
  await machine.post(`/asks/ask-${ask.ident}/cancel`, { peer_id, reason: "sesame" });
}

/** The ask may be under way, or not: then it is withdrawn. */
export async function askAndCancel(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const id = await send(storm, "ask", {}, machine);
  for (let turn = storm.chance.below(12); turn > 0; turn--) {
    await new Promise((done) => setImmediate(done));
  }
  const ask = machine.rows().find(({ ident }) => `ask-${ident}` === id);
  if (ask) await cancelAsk(machine, ask);
}

/** Both sides close the same ask before either has heard of the other. */
export async function answerAndCancel(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const ask = pickAsk(storm, machine, false);
  const origin = ask?.machine && storm.machine(ask.machine);
  const there = origin && origin.rows().find((row) => row.origin_id === ask.origin_id && row.sent);
  if (!there) return;
  await Promise.all([
    cancelAsk(origin, there),
    answerAsk(storm, machine, ask, storm.chance.pick(["ack", "decline"])),
  ]);
}

/** Begins to wait; an invariant checks the answer when it arrives. */
export function wait(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const ask = pickAsk(storm, machine, true);
  if (!ask) return Promise.resolve();
  const id = `ask-${ask.ident}`;
  const peer_id = ask.from_peer_id ?? ask.from_peer_name;
  const timeout_seconds = storm.chance.pick(WAIT_SECONDS);
  const waiting: StormMachine["waits"][number] = {
    id,
    answer: undefined,
    error: undefined,
    isOver: false,
  };
  machine.waits.push(waiting);
  machine.post(`/asks/${id}/wait`, { peer_id, timeout_seconds }).then(
    (answer) => waiting.answer = answer,
    (error) => waiting.error = error,
  );
  return Promise.resolve();
}

/** The human answers, on the one machine where the inbox is. */
export async function inboxReply(storm: MachinesStorm): Promise<void> {
  const [machine] = storm.machines;
  const items = machine ? inboxItems(machine.w.daemon) : [];
  if (!machine || items.length === 0) return;
  const item_id = storm.chance.pick(items.slice(-6));
  await machine.post(`/inbox/${item_id}/reply`, { text: storm.nextText(), surface: "cli" });
}
