/**
 * Three daemons exchange messages while each of them, their server and a leaf node are killed at
 * seeded moments; then their ledgers are compared. One daemon is connected to the leaf node.
 */

import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { Chance } from "../../support/seeded_random.ts";
import { compare, type LedgerCounts, underWay } from "./machine_ledgers.ts";
import { StormPeer } from "./storm_peer.ts";

const LOAD_MS = 1500;
const DOWN_MS_MAX = 400;
const KILLED_ONE_IN = 2;
const RECOVERY_MS_MAX = 90_000;
const POLL_MS = 50;

export interface StormOutcome extends LedgerCounts {
  readonly seeds: number;
  readonly kills: number;
  /** Messages that never arrived in time. */
  readonly stuck: number;
  readonly slowest_recovery_ms: number;
}

interface Victim {
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function machineStorm(
  { seeds, first }: { readonly seeds: number; readonly first: number },
  report: (line: string) => void,
): Promise<StormOutcome> {
  await using network = await RealNetwork.start();
  const peers = await joinAll(network);
  const victims = [...peers.map(daemonOf), serverOf(network), await leafOf(network)];
  const answering = new AbortController();
  const answerers = peers.map((peer) => peer.answer(answering.signal));
  let total: StormOutcome | undefined;
  for (let seed = first; seed < first + seeds; seed++) {
    const kills = await round(seed, peers, victims);
    const { recovery_ms, stuck } = await recover(peers);
    const found = await compare(peers, seed, report);
    const outcome = { ...found, seeds: 1, kills, stuck, slowest_recovery_ms: recovery_ms };
    total = total ? sumOf(total, outcome) : outcome;
    const { accepted, answers } = found;
    const what = `${kills} kills, ${accepted} accepted, ${answers} answers`;
    report(`seed ${seed}: ${what}, recovered in ${Math.round(recovery_ms)} ms`);
  }
  answering.abort();
  await Promise.all(answerers);
  for (const { client } of peers) await client.disconnect();
  if (!total) throw new RangeError("A storm needs a seed");
  return total;
}

/** Three machines, each with a peer, which all know each other. */
async function joinAll(network: RealNetwork): Promise<StormPeer[]> {
  const peers = [
    new StormPeer(await network.join("one")),
    new StormPeer(await network.join("two")),
    new StormPeer(await network.join("three", { at_leaf: true })),
  ];
  for (const peer of peers) await peer.connect();
  for (const { machine } of peers) {
    for (const other of peers) {
      if (other.machine === machine) continue;
      await network.sees(machine, `${other.client.name}@${other.machine.name}`);
    }
  }
  return peers;
}

/** Load with kills; returns how many. Everything runs again afterwards. */
async function round(
  seed: number,
  peers: readonly StormPeer[],
  victims: readonly Victim[],
): Promise<number> {
  const chance = new Chance(seed);
  const sure = chance.pick(victims);
  const killed = victims.filter((victim) => chance.oneIn(KILLED_ONE_IN) || victim === sure);
  const plans = killed.map((victim) => ({
    victim,
    at: chance.below(LOAD_MS),
    down: chance.below(DOWN_MS_MAX),
  }));
  for (const peer of peers) peer.begin(seed, peers);
  const sending = new AbortController();
  const senders = peers.map((peer) => peer.send(sending.signal));
  const kill = async ({ victim, at, down }: typeof plans[number]) => {
    await pause(at);
    await victim.kill();
    await pause(down);
    await victim.start();
  };
  await Promise.all([pause(LOAD_MS), ...plans.map(kill)]);
  sending.abort();
  await Promise.all(senders);
  return killed.length;
}

/** Waits until nothing is under way any more. */
async function recover(
  peers: readonly StormPeer[],
): Promise<{ recovery_ms: number; stuck: number }> {
  const from = performance.now();
  for (;;) {
    const left = underWay(peers);
    const recovery_ms = performance.now() - from;
    if (left === 0) return { recovery_ms, stuck: 0 };
    if (recovery_ms > RECOVERY_MS_MAX) return { recovery_ms, stuck: left };
    await pause(POLL_MS);
  }
}

function daemonOf(peer: StormPeer): Victim {
  return {
    kill: () => peer.machine.kill(),
    start: async () => {
      await peer.machine.start();
      await peer.connect();
    },
  };
}

function serverOf({ server }: RealNetwork): Victim {
  return { kill: () => server.kill(), start: () => server.restart() };
}

async function leafOf(network: RealNetwork): Promise<Victim> {
  const leaf = await network.leaf();
  return { kill: () => leaf.kill(), start: () => leaf.restart() };
}

function sumOf(before: StormOutcome, next: StormOutcome): StormOutcome {
  return {
    accepted: before.accepted + next.accepted,
    answers: before.answers + next.answers,
    lost_at_origin: before.lost_at_origin + next.lost_at_origin,
    lost_on_the_way: before.lost_on_the_way + next.lost_on_the_way,
    twice: before.twice + next.twice,
    invented: before.invented + next.invented,
    undelivered: before.undelivered + next.undelivered,
    answers_lost: before.answers_lost + next.answers_lost,
    traces_differ: before.traces_differ + next.traces_differ,
    out_of_order: before.out_of_order + next.out_of_order,
    unaccounted: before.unaccounted + next.unaccounted,
    seeds: before.seeds + next.seeds,
    kills: before.kills + next.kills,
    stuck: before.stuck + next.stuck,
    slowest_recovery_ms: Math.max(before.slowest_recovery_ms, next.slowest_recovery_ms),
  };
}
