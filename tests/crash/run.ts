/**
 * The long crash tests. `deno task crash [PART…]` runs the parts, or all of them: kills, power,
 * disk, reconnects, vanished, suspended, clock, machines, copies. `--kills N` (500), `--points N` (100) of
 * lost power, each with every kind of loss, `--faults N` (60) of the disk, `--reconnects N`
 * (10,000), `--seconds N` (90) of a suspended daemon, `--steps N` (20) of a clock, `--seeds N`
 * (100) of machines, `--seed S`. Prints a table; exits with 1 if anything was not sound.
 */

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

const seed = argument("--seed", Date.now() % 1_000_000);

const PARTS: Readonly<Record<string, () => Promise<Result>>> = {
  async kills() {
    const counts = await storm(argument("--kills", 500), seed);
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
    const options = { seed, points_max: argument("--points", 100), starts: STARTS };
    const { failures, ...counts } = await losePower(folder.path, recording, options);
    for (const failure of failures.slice(0, 20)) print(failure);
    return { counts: { ...counts, failures: failures.length }, isSound: failures.length === 0 };
  },
  async disk() {
    const obstacle = await diskObstacle();
    if (obstacle) return skippedResult(obstacle);
    using folder = temporary();
    const disk = await FaultyDisk.make(folder.path);
    const { accepted, refused, ...failures } = await diskStorm(disk, argument("--faults", 60));
    return { counts: { accepted, refused, ...failures }, isSound: isZero(failures) };
  },
  async reconnects() {
    using folder = temporary();
    await using daemon = await RealDaemon.start(folder.path);
    const total = argument("--reconnects", 10_000);
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
    const seconds = argument("--seconds", 90);
    const failures = await suspend(seconds);
    return { counts: { seconds, ...failures }, isSound: isZero(failures) };
  },
  async clock() {
    const obstacle = clockObstacle();
    if (obstacle) return skippedResult(obstacle);
    const chance = new Chance(seed);
    const length = argument("--steps", 20);
    const steps = Array.from({ length }, () => chance.pick(STEPS));
    const failures = await setClock(steps);
    for (const failure of failures) print(failure);
    return { counts: { steps: length, failures: failures.length }, isSound: failures.length === 0 };
  },
  async machines() {
    const obstacle = natsObstacle();
    if (obstacle) return skippedResult(obstacle);
    const plan = { seeds: argument("--seeds", 100), first: seed };
    const { seeds, kills, accepted, answers, slowest_recovery_ms, ...failures } =
      await machineStorm(plan, print);
    const counts = { seeds, kills, accepted, answers, ...failures, slowest_recovery_ms };
    return { counts, isSound: isZero(failures) };
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

const wanted = Object.keys(PARTS).filter((part) => Deno.args.includes(part));
let isSound = true;
print(`seed ${seed}`);
for (const [part, run] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(part)) continue;
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

function argument(name: string, fallback: number): number {
  const at = Deno.args.indexOf(name);
  return at < 0 ? fallback : Number(Deno.args[at + 1]);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
