/** The verbs of a wake storm. */

import type { WakeStorm, WakeVerb } from "./wake_storm.ts";
import { AGENTS } from "./machine.ts";

// deno-fmt-ignore
export const WAKE_VERBS: readonly WakeVerb[] = [
  { name: "start an agent",            weight: 4, run: start },
  { name: "ask",                       weight: 8, run: ask },
  { name: "ask, and kill the daemon",  weight: 4, run: (storm) => storm.killDuring(() => ask(storm)) },
  { name: "decide",                    weight: 6, run: decide },
  { name: "decide, and kill the daemon", weight: 4, run: (storm) => storm.killDuring(() => decide(storm)) },
  { name: "wake by hand",              weight: 2, run: wake },
  { name: "wake by hand, and kill the daemon", weight: 2, run: (storm) => storm.killDuring(() => wake(storm)) },
  { name: "report starts",             weight: 8, run: (storm) => storm.registerStarted(() => !storm.chance.oneIn(3)) },
  { name: "report starts, and kill the daemon", weight: 3, run: (storm) => storm.killDuring(() => storm.registerStarted(() => true)) },
  { name: "tick",                      weight: 10, run: (storm) => storm.tick(1 + storm.chance.below(8)) },
  { name: "tick, and kill the daemon", weight: 6, run: (storm) => storm.killDuring(() => storm.tick(1)) },
  { name: "minutes pass",              weight: 4, run: minutes },
  { name: "minutes pass, and the daemon is killed", weight: 3, run: (storm) => storm.killDuring(() => minutes(storm)) },
  { name: "answer",                    weight: 6, run: answer },
  { name: "an agent dies",             weight: 4, run: die },
  { name: "a person types",            weight: 2, run: type },
  { name: "a person looks",            weight: 1, run: look },
  { name: "restart the daemon",        weight: 1, run: (storm) => storm.restart() },
];

const nameOf = (storm: WakeStorm) => storm.chance.pick(AGENTS);

async function start(storm: WakeStorm): Promise<void> {
  await storm.startByPerson(nameOf(storm));
}

async function ask(storm: WakeStorm): Promise<void> {
  const isStranger = storm.chance.oneIn(4);
  const from_peer = isStranger ? "stranger" : "web";
  const circle = isStranger ? "elsewhere" : "default";
  await storm.post("/peers", { name: from_peer, circle, path: "/work", backend: "sdk" });
  const body = { from_peer, to_peer: nameOf(storm), bypass_circle: true, text: "Ready?" };
  const { correlation_id } = await storm.post("/ask", body);
  if (typeof correlation_id === "string") storm.accepted.add(correlation_id);
}

/** The human answers one of the questions. */
async function decide(storm: WakeStorm): Promise<void> {
  const { items } = await storm.get("/inbox?open=true") as { items: { [key: string]: unknown }[] };
  const open = items.filter(({ question }) => (question as { scope?: string })?.scope === "wake");
  if (open.length === 0) return;
  const { item_id } = storm.chance.pick(open);
  const option_id = storm.chance.pick(["wake", "wake", "wake", "not_now"]);
  await storm.post(`/inbox/${item_id}/reply`, { option_id });
}

async function wake(storm: WakeStorm): Promise<void> {
  await storm.post(`/peers/${nameOf(storm)}/wake`);
}

async function minutes(storm: WakeStorm): Promise<void> {
  await storm.tick(60 * (1 + storm.chance.below(9)));
  for (let ticks = 0; ticks < 8; ticks++) await storm.tick();
}

/** An agent answers an ask that it has read. */
async function answer(storm: WakeStorm): Promise<void> {
  const read = storm.openAsks().filter(({ state }) => state !== "queued");
  if (read.length === 0) return;
  const { correlation_id, to_peer_id: from_peer } = storm.chance.pick(read);
  await storm.post("/ack", { correlation_id, message: "Yes", from_peer });
}

function die(storm: WakeStorm): Promise<void> {
  for (const pid of storm.machine.runningOf(nameOf(storm))) storm.machine.terminals.end(pid);
  return Promise.resolve();
}

async function type(storm: WakeStorm): Promise<void> {
  const name = nameOf(storm);
  if (storm.machine.runningOf(name).length === 0) return;
  await storm.post(`/peers/${name}/turn`, { turn_state: "working", prompt: "Good morning" });
  await storm.post(`/peers/${name}/turn`, { turn_state: "idle" });
}

async function look(storm: WakeStorm): Promise<void> {
  const { terminals } = storm.machine;
  const pane = storm.chance.pick([...terminals.panes.keys(), "%0"]);
  terminals.watched.add(pane);
  await storm.tick(1);
  terminals.watched.clear();
}
