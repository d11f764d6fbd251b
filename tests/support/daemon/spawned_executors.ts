/** Executors that are spawned for a job: they register, begin a turn and end it. */

import assert from "node:assert/strict";
import type { World } from "../world.ts";
import { get, post } from "./peer_clients.ts";
import { FakeTerminals, SOCKET, spawningWorld, type WorldSettings } from "./spawns.ts";

type SpawningFixture = Pick<
  Awaited<ReturnType<typeof spawningWorld>>,
  "w" | "folder" | "terminals"
>;

export const startWorld = (settings: WorldSettings = {}) => spawningWorld({ settings });

/** Work for an agent that is to be started, as codex is here. */
export function ownExecutorJob({ folder }: SpawningFixture, more: Record<string, unknown> = {}) {
  return { title: "Mend", path: folder, backend: "codex" as const, ...more };
}

/** Lets so many agents be started, which takes no time on the clock. */
export async function waitForLaunches(
  { w, terminals }: SpawningFixture,
  count: number,
): Promise<void> {
  for (let turn = 0; turn < 100 && terminals.launches.length < count; turn++) {
    await w.clock.settle();
  }
  assert.equal(terminals.launches.length, count);
  await w.clock.settle();
}

/** Launches whose agents have registered. */
const seen = new WeakMap<object, number>();

const arrivals = (terminals: FakeTerminals) =>
  terminals.launches.length - (seen.get(terminals) ?? 0);

/** The agent in the newest pane registers, as its hook would. */
export async function registerSpawned({ w, terminals, folder }: SpawningFixture, session = "s-1") {
  for (let turn = 0; turn < 50 && arrivals(terminals) === 0; turn++) await w.clock.settle();
  seen.set(terminals, terminals.launches.length);
  await w.clock.settle();
  const pane = [...terminals.panes.values()].at(-1);
  const location = { pane_id: pane?.pane_id, tmux_socket: SOCKET, agent_pid: pane?.pane_pid };
  const as = { path: folder, backend: "codex", runtime_session_id: session };
  const { peer_id } = await post(w, "/peers", { ...location, ...as });
  await w.clock.settle();
  return { peer_id, pane_id: pane?.pane_id ?? "", pid: pane?.pane_pid ?? 0 };
}

/** The executor takes its message, and begins its turn. */
export async function begin(w: World, peer_id: string) {
  const { deliveries } = await get(w, `/deliveries/pending?peer_id=${peer_id}`);
  const prompt = `[mesh ${deliveries.at(-1).delivery_id}]`;
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "working", prompt });
}

/** Waits until files and panes have been looked at, which takes no time on the clock. */
export async function end(w: World, peer_id: string, last_message: string) {
  await post(w, `/peers/${peer_id}/turn`, { turn_state: "idle", last_message });
  await w.clock.settle();
}
