/** Messages to connected peers: how long they take, and how many a daemon handles. */

import type { FloodRate, Latencies } from "../load/job.ts";
import { pause, residentMb } from "../../support/programs/process_facts.ts";
import { type Budget, type Effort, type Figure, interleave } from "../report/figures.ts";
import { Servers } from "./servers.ts";

const PEERS = 20;
const IN_FLIGHT = 64;
const RECEIVERS = 200;
/** Time between a flood and the measurement of memory. */
const MEMORY_AFTER_MS = 10_000;

type Name = "ours" | "durable" | "bare";
type All<T> = Readonly<Record<Name, readonly T[]>>;

/** From an ask's request to its frame, one at a time, at 20 peers in turn. */
export async function latency({ rounds, count }: Effort): Promise<Figure[]> {
  await using servers = await Servers.start();
  const send = (name: Name, path: string) => async () =>
    await servers.measure<Latencies>(servers[name], { kind: "latency", peers: PEERS, count, path });
  const all = await interleave(rounds, {
    ours: send("ours", "/ask"),
    durable: send("durable", "/push"),
    bare: send("bare", "/push"),
  });
  return [
    timingFigure("ask → frame, p50", all, ({ p50 }) => p50, { of: "ratio", max: 1.5 }),
    timingFigure("ask → frame, p99", all, ({ p99 }) => p99, { of: "ratio", max: 2 }),
    cpuTime("ask, one at a time: processor time", all),
  ];
}

/** From an answer's request to the return of the wait for it. */
export async function reply({ rounds, count }: Effort): Promise<Figure[]> {
  await using servers = await Servers.start();
  const answer = (name: Name) => async () =>
    await servers.measure<Latencies>(servers[name], { kind: "replies", peers: 2, count });
  const all = await interleave(rounds, {
    ours: answer("ours"),
    durable: answer("durable"),
    bare: answer("bare"),
  });
  const what = "ask, wait, answer: processor time";
  return [
    timingFigure("reply → wait returns, p50", all, ({ p50 }) => p50, { of: "ratio", max: 1.5 }),
    timingFigure("reply → wait returns, p99", all, ({ p99 }) => p99),
    { ...cpuTime(what, all), note: "Ours stores an ask and an answer, durable bare the answer." },
  ];
}

/** From a broadcast's request to the last frame's arrival. */
export async function broadcast({ rounds, count }: Effort): Promise<Figure[]> {
  await using servers = await Servers.start();
  const send = (name: Name, path: string) => async () =>
    await servers.measure<Latencies>(servers[name], {
      kind: "fanout",
      peers: RECEIVERS,
      count: Math.ceil(count / 5),
      path,
    });
  const all = await interleave(rounds, {
    ours: send("ours", "/broadcast"),
    durable: send("durable", "/push_all"),
    bare: send("bare", "/push_all"),
  });
  const note = "Durable bare stores one row for a broadcast, ours one for each receiver.";
  const p50 = timingFigure("broadcast to 200, last frame, p50", all, ({ p50 }) => p50);
  return [
    { ...withBudgetBesideBare(p50, { of: "ratio", max: 2 }), note },
    timingFigure("broadcast to 200, last frame, p99", all, ({ p99 }) => p99),
    cpuTime("broadcast to 200: processor time", all),
  ];
}

/** Asks and notifies, 64 in flight, and the memory after each flood of asks. */
export async function floods({ rounds, seconds }: Effort): Promise<Figure[]> {
  await using servers = await Servers.start();
  const job = { kind: "flood", peers: PEERS, in_flight: IN_FLIGHT, seconds };
  const run = (name: Name, path: string) => async () =>
    await servers.measure<FloodRate>(servers[name], { ...job, path });
  let ended_at = 0;
  const all = await interleave(rounds, {
    notifies: run("ours", "/notify"),
    asks: async () => {
      const flooded = await run("ours", "/ask")();
      ended_at = performance.now();
      return flooded;
    },
    memory: () => Promise.resolve(residentMb(servers.ours.pid)),
    durable: run("durable", "/push"),
    bare: run("bare", "/push"),
    memory_later: async () => {
      await pause(Math.max(0, ended_at + MEMORY_AFTER_MS - performance.now()));
      return residentMb(servers.ours.pid);
    },
    memory_durable: () => Promise.resolve(residentMb(servers.durable.pid)),
  });
  const { notifies, asks, durable, bare, memory, memory_later, memory_durable } = all;
  const [asked, notified] = [{ ours: asks, durable, bare }, { ours: notifies, durable, bare }];
  const cpu = { of: "ratio", max: 2.5 } as const;
  return [
    rate("asks a second, 64 in flight", asked, { of: "ratio", min: 0.45 }),
    cpuTime("ask in a flood: processor time", asked, cpu),
    rate("notifies a second, 64 in flight", notified),
    cpuTime("notify in a flood: processor time", notified, cpu),
    {
      what: "memory 10 s after a flood",
      unit: "MB",
      ours: memory_later,
      yardstick: { name: "durable", samples: memory_durable },
      budget: { of: "value", max: 100 },
      details: [{ what: "at the flood's end", unit: "MB", ours: memory }],
    },
  ];
}

function timingFigure(
  what: string,
  all: All<Latencies>,
  of: (timed: Latencies) => number,
  budget?: Budget,
): Figure {
  return besideBoth({ what, unit: "ms", all, of, budget });
}

function rate(what: string, all: All<FloodRate>, budget?: Budget): Figure {
  return besideBoth({ what, unit: "/s", all, of: ({ per_second }) => per_second, budget });
}

function cpuTime(what: string, all: All<{ cpu_us: number }>, budget?: Budget): Figure {
  return besideBoth({ what, unit: "µs", all, of: ({ cpu_us }) => cpu_us, budget });
}

/** Beside durable bare, and below that beside the server that stores nothing. */
function besideBoth<T>(
  { what, unit, all, of, budget }: {
    what: string;
    unit: string;
    all: All<T>;
    of: (result: T) => number;
    budget: Budget | undefined;
  },
): Figure {
  const beside = (name: "durable" | "bare") => ({
    unit,
    ours: all.ours.map(of),
    yardstick: { name, samples: all[name].map(of) },
  });
  const detail = { what: "beside bare", ...beside("bare") };
  return { what, ...beside("durable"), details: [detail], ...budget && { budget } };
}

/** The budget is for the detail: the ratio to the server that stores nothing. */
function withBudgetBesideBare(figure: Figure, budget: Budget): Figure {
  return { ...figure, details: (figure.details ?? []).map((detail) => ({ ...detail, budget })) };
}
