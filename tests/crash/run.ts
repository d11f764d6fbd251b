/** The long crash tests: prints a table, and exits with 1 if anything was not sound. */

import { readTaskArgs } from "../runner/task_args.ts";
import { Chance } from "../support/seeded_random.ts";
import { RealDaemon, temporary } from "../support/programs/child.ts";
import { setClock, STEPS } from "./clock/clock_steps.ts";
import { obstacle as clockObstacle } from "./clock/moved_clock.ts";
import { diskStorm } from "./disk/disk_storm.ts";
import { FaultyDisk, obstacle as diskObstacle } from "./disk/faulty_disk.ts";
import { storm } from "./kill_storm.ts";
import { renewCopy, stopFirst } from "./machines/copied_machines.ts";
import { machineStorm } from "./machines/machine_storm.ts";
import { reconnectStorm } from "./network/reconnect_storm.ts";
import { vanish } from "./network/vanished_peers.ts";
import { obstacle as natsObstacle } from "../support/nats/nats_tests.ts";
import { losePower, record } from "./power_loss/power_loss.ts";
import { obstacle as traceObstacle } from "./power_loss/trace.ts";
import { suspend } from "./suspension.ts";
import { hasTmux } from "../../cli/client/isolated_env.ts";
import { killInPhases } from "./wakes/wake_kills.ts";

const START_MS_MAX = 2000;
const HEALTH_MS_MAX = 5000;
const RECONNECTS_AT_ONCE = 1000;
const REQUESTS_PER_LANE = 150;
const STARTS = 10;

/** Counts of a part; `isSound` if the counts of failures are zero. */
interface Result {
  readonly counts: Readonly<Record<string, number | string>>;
  readonly isSound: boolean;
}

const args = readTaskArgs({
  task: "crash",
  summary: "Runs the parts, or all of them, and prints what was lost or wrong",
  words: {
    name: "PART",
    // deno-fmt-ignore
    known: ["kills", "power", "disk", "reconnects", "vanished", "suspended", "clock", "machines", "copies", "wakes"],
  },
  options: {
    "--kills N": "kills of the daemon (500)",
    "--points N": "points of lost power, each with every kind of loss (100)",
    "--faults N": "faults of the disk (60)",
    "--reconnects N": "clients that connect again (10,000)",
    "--seconds N": "seconds for which the daemon is suspended (90)",
    "--steps N": "steps of the clock (20)",
    "--seeds N": "seeds of machines (100)",
    "--wakes N": "kills of a daemon that wakes an agent (50)",
    "--seed N": "the first seed",
  },
});
const seed = args.number("seed", Date.now() % 1_000_000);

const PARTS: Readonly<Record<string, () => Promise<Result>>> = {
  async kills() {
    const counts = await storm(args.number("kills", 500), seed);
    const { kills: _, acknowledged: __, repeats: ___, ...rest } = counts;
    const { integrity, slowest_start_ms, ...failures } = rest;
    const isFast = slowest_start_ms <= START_MS_MAX;
    return { counts: { ...counts }, isSound: isZero(failures) && integrity === "ok" && isFast };
  },
  async power() {
    const obstacle = await traceObstacle();
    if (obstacle) return skippedResult(obstacle);
    using folder = temporary();
    const recording = await record(folder.path, REQUESTS_PER_LANE);
    const options = { seed, points_max: args.number("points", 100), starts: STARTS };
    const { failures, ...counts } = await losePower(folder.path, recording, options);
    for (const failure of failures.slice(0, 20)) print(failure);
    return { counts: { ...counts, failures: failures.length }, isSound: failures.length === 0 };
  },
  async disk() {
    const obstacle = await diskObstacle();
    if (obstacle) return skippedResult(obstacle);
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    const { accepted, refused, ...failures } = await diskStorm(disk, args.number("faults", 60));
    return { counts: { accepted, refused, ...failures }, isSound: isZero(failures) };
  },
  async reconnects() {
    using folder = temporary();
    await using daemon = await RealDaemon.start(folder.path);
    const total = args.number("reconnects", 10_000);
    const at_once = Math.min(total, RECONNECTS_AT_ONCE);
    const counts = await reconnectStorm(daemon, { total, at_once });
    const { failed, descriptors_left, slowest_health_ms, peers } = counts;
    const isResponsive = slowest_health_ms <= HEALTH_MS_MAX && peers === at_once;
    return { counts: { ...counts }, isSound: isZero({ failed, descriptors_left }) && isResponsive };
  },
  async vanished() {
    const { peers, seconds, ...failures } = await vanish();
    return { counts: { peers, seconds, ...failures }, isSound: isZero(failures) };
  },
  async suspended() {
    const seconds = args.number("seconds", 90);
    const failures = await suspend(seconds);
    return { counts: { seconds, ...failures }, isSound: isZero(failures) };
  },
  async clock() {
    const obstacle = clockObstacle();
    if (obstacle) return skippedResult(obstacle);
    const chance = new Chance(seed);
    const length = args.number("steps", 20);
    const steps = Array.from({ length }, () => chance.pick(STEPS));
    const failures = await setClock(steps);
    for (const failure of failures) print(failure);
    return { counts: { steps: length, failures: failures.length }, isSound: failures.length === 0 };
  },
  async machines() {
    const obstacle = natsObstacle();
    if (obstacle) return skippedResult(obstacle);
    const plan = { seeds: args.number("seeds", 100), first: seed };
    const { seeds, kills, accepted, answers, slowest_recovery_ms, ...failures } =
      await machineStorm(plan, print);
    const counts = { seeds, kills, accepted, answers, ...failures, slowest_recovery_ms };
    return { counts, isSound: isZero(failures) };
  },
  async wakes() {
    if (!hasTmux(Deno.env.toObject())) return skippedResult("tmux is not installed");
    const { hits, faults } = await killInPhases({ kills: args.number("wakes", 50), seed });
    return { counts: { ...hits, ...faults }, isSound: isZero(faults) };
  },
  async copies() {
    const obstacle = natsObstacle();
    if (obstacle) return skippedResult(obstacle);
    const counts: Record<string, number> = { failed: 0 };
    for (const proof of [stopFirst, renewCopy]) {
      await proof().catch((error) => {
        counts["failed"] = (counts["failed"] ?? 0) + 1;
        print(String(error));
      });
    }
    return { counts, isSound: isZero(counts) };
  },
};

let isSound = true;
print(`seed ${seed}`);
for (const [part, run] of Object.entries(PARTS)) {
  if (args.words.length > 0 && !args.words.includes(part)) continue;
  const result = await run();
  isSound &&= result.isSound;
  for (const [what, value] of Object.entries(result.counts)) {
    const shown = typeof value === "number" ? Math.round(value) : value;
    print(`${part.padEnd(12)}${what.padEnd(28)}${shown}`);
  }
}
Deno.exit(isSound ? 0 : 1);

function isZero(failures: object): boolean {
  return Object.values(failures).every((count) => count === 0);
}

function skippedResult(reason: string): Result {
  return { counts: { skipped: reason }, isSound: true };
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
