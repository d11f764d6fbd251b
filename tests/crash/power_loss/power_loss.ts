/**
 * A loss of power: records what a real daemon writes and syncs, rebuilds its files as of each sync
 * with every later write lost in some way, and looks for all that the daemon had told by then.
 */

import { dirname, join } from "node:path";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { RealDaemon } from "../../support/programs/child.ts";
import { Chance } from "../../support/seeded_random.ts";
import { Claims } from "./claims.ts";
import { ForgetfulDisk, type Image, type Loss, LOSSES } from "./disk.ts";
import { type HookedWork, syncsAfterAnswers, workWithHooks } from "./hooked_session.ts";
import { type AnsweredRequest, load, SETTINGS } from "./load.ts";
import { type Operation, readTrace, recordedBy, recordingOf } from "./trace.ts";

export interface PowerLossOptions {
  readonly seed: number;
  /**
   * So many points of the recording are tried, each with every loss, and a third as many more after
   * early answers of hooks, and after their hand-overs.
   */
  readonly points_max: number;
  /** On so many images a daemon is started. */
  readonly starts: number;
}

export interface PowerLossOutcome {
  readonly syncs: number;
  readonly images: number;
  /** Ids and ends of asks that the daemon told somebody. */
  readonly told: number;
  /** Images that lack a report of a hook that was answered, which promises nothing. */
  readonly lost_reports: number;
  readonly daemons_started: number;
  /** Violations, in sentences. */
  readonly failures: string[];
}

/** System calls and answers of a daemon from its first start until it was killed. */
export interface Recording {
  readonly operations: readonly Operation[];
  readonly answered: readonly AnsweredRequest[];
  readonly hooked: HookedWork;
}

/** The state directory lies in a folder of its own, so that its own name can be lost, too. */
function stateIn(folder: string): string {
  return join(folder, "home", "state");
}

/** Runs a daemon under load, so many requests on each connection, and kills it. */
export async function record(folder: string, requests: number): Promise<Recording> {
  const [trace, state] = [join(folder, "trace"), stateIn(folder)];
  mkdirSync(dirname(state), { mode: 0o700 });
  const wrapper = recordedBy(trace);
  const daemon = await RealDaemon.start(state, { settings: SETTINGS, wrapper });
  const [sent, hooked] = await Promise.all([
    load(daemon, requests),
    workWithHooks(daemon, requests),
  ]);
  const answered = [...sent, ...hooked.messages];
  await daemon.kill();
  const text = await recordingOf(trace, daemon.pid);
  return { operations: readTrace(text, dirname(state)), answered, hooked };
}

/** Rebuilds images from a recording and checks them, in the folder in which it was made. */
export async function losePower(
  folder: string,
  { operations, answered, hooked }: Recording,
  { seed, points_max, starts }: PowerLossOptions,
): Promise<PowerLossOutcome> {
  const [chance, disk, claims] = [new Chance(seed), new ForgetfulDisk(), new Claims(hooked)];
  const syncs = operations.filter(({ kind }) => kind === "sync ends").length;
  const { reports, handovers } = syncsAfterAnswers(operations, hooked);
  const points = new Set([
    ...evenly(points_max, syncs),
    ...[reports, handovers].flatMap((syncs) =>
      evenly(Math.ceil(points_max / 3), syncs.length).map((at) => syncs[at])
    ),
  ]);
  const started = new Set(evenly(starts, points.size));
  const failures: string[] = [];
  let [sync, point] = [0, 0];
  for (const operation of operations) {
    // Just before a sync is done, most has been told and most can be lost.
    if (operation.kind === "sync ends" && points.has(sync++)) {
      const isStarted = (loss: Loss) =>
        started.has(point) && loss === LOSSES[point % LOSSES.length];
      for (const loss of LOSSES) {
        const state = place(disk.image(loss, chance), stateIn(folder));
        const found = isStarted(loss)
          ? await startOn(state, claims, answered)
          : claims.missingIn(state);
        failures.push(...found.map((what) => `sync ${sync} of ${syncs}, ${loss}: ${what}`));
      }
      point++;
    }
    if (operation.kind === "sent") claims.read(operation.text);
    else disk.apply(operation);
  }
  const unread = answered.length - claims.count("message");
  if (unread > 0) failures.push(`${unread} answers are not in the recording`);
  const images = points.size * LOSSES.length;
  const { lost_reports } = claims.hooks;
  return {
    syncs,
    images,
    told: claims.total,
    lost_reports,
    daemons_started: started.size,
    failures,
  };
}

/** Evenly spread numbers below a limit, including the last one. */
function evenly(count: number, below: number): number[] {
  if (count >= below) return Array.from({ length: below }, (_, at) => at);
  return Array.from({ length: count }, (_, at) => below - 1 - Math.floor(at * below / count));
}

/** Replaces the files of a state directory. */
function place(image: Image, state: string): string {
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state, { mode: 0o700 });
  for (const [path, bytes] of image) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, bytes, { mode: 0o600 });
  }
  return state;
}

/**
 * Starts a daemon on an image. It must count every message and know repeated requests, and the
 * session with hooks must go on.
 */
async function startOn(
  state: string,
  claims: Claims,
  answered: readonly AnsweredRequest[],
): Promise<string[]> {
  const failures = claims.missingIn(state);
  await using daemon = await RealDaemon.start(state, { settings: SETTINGS });
  const audit = await fetch(`${daemon.base}/deliveries?limit=1`);
  const { unaccounted } = await audit.json();
  if (unaccounted?.length !== 0) failures.push(`unaccounted for: ${JSON.stringify(unaccounted)}`);
  for (const { path, body, key, id } of answered.filter(({ id }) => claims.has(id))) {
    const headers = { "idempotency-key": key };
    const init = { method: "POST", body: JSON.stringify(body), headers };
    const { correlation_id, delivery_id } = await (await fetch(daemon.base + path, init)).json();
    if ((correlation_id ?? delivery_id) !== id) failures.push(`the request of ${id} was repeated`);
  }
  failures.push(...claims.missingIn(state));
  return [...failures, ...await claims.hooks.goOn(daemon, (id) => claims.has(id))];
}
