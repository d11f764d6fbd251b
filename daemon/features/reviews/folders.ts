/** The folders in which agents of this machine work, and what each was asked to do there. */

import { DAY_MS } from "kit/core/duration.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { Chain } from "protocol/origins/record.ts";
import type { Review } from "protocol/reviews/contract.ts";
import type { Context } from "../../data/context.ts";
import * as askRows from "../asks/store.ts";
import { realPath } from "../changes/git/repository.ts";
import * as attempts from "../jobs/fires/store.ts";
import * as jobRows from "../jobs/store.ts";
import type { StoredJob } from "../jobs/store.ts";
import * as peers from "../peers/store.ts";
import type { FolderPeer } from "../peers/store.ts";
import * as proofs from "../proofs/store.ts";
import * as store from "./store.ts";

/** Days for which the folder of a peer that is gone is looked at, and its jobs. */
const KEPT_DAYS = 14;
/** Maximum peers whose folders are looked at, and maximum ended jobs. */
const PEERS_MAX = 1_000;
const JOBS_MAX = 500;
const TITLE_CHARS_MAX = 200;

/** States of a job that waits for its peer: it is offline, or has not begun its turn. */
const NOT_BEGUN = ["queued", "dispatching"] as const;

/** A folder with the peers that have it. */
export interface WorkFolder {
  readonly folder: string;
  /** The peer with the latest turn; one that can still be asked comes first. */
  readonly author: FolderPeer;
  readonly peers: readonly FolderPeer[];
}

/** The folders, by their real paths. */
export function workFolders({ db, clock }: Context, machine: string): Map<string, WorkFolder> {
  const since = clock.now() - KEPT_DAYS * DAY_MS;
  const byFolder = new Map<string, FolderPeer[]>();
  for (const peer of peers.withFolders(db, { machine, since, limit: PEERS_MAX })) {
    const folder = realPath(peer.path ?? "");
    if (folder === undefined || folder === "/") continue;
    byFolder.set(folder, [...byFolder.get(folder) ?? [], peer]);
  }
  return new Map(Array.from(byFolder, ([folder, found]) => {
    const author = found.find(({ status }) => status !== "retired") ?? found[0];
    return [folder, { folder, author: author as FolderPeer, peers: found }];
  }));
}

/** True if a turn of the peer runs, or waits for an answer. */
export function isAtWork({ status, turn_state }: FolderPeer): boolean {
  if (status === "offline" || status === "retired") return false;
  return status === "busy" || turn_state === "working" || turn_state === "awaiting_input";
}

/** The jobs of peers: the ended one that each did last, and the peers that do one now. */
export interface PeerJobs {
  readonly ended: ReadonlyMap<string, StoredJob>;
  readonly running: ReadonlySet<string | null>;
  /** The number of jobs that each peer has not begun. */
  readonly waiting: ReadonlyMap<string, number>;
}

export function peerJobs({ db, clock }: Context): PeerJobs {
  const now = clock.now();
  const range = { since: now - KEPT_DAYS * DAY_MS, until: now, circle: null, limit: JOBS_MAX };
  const ended = new Map<string, StoredJob>();
  for (const job of jobRows.endedIn(db, range)) {
    const attempt = job.current_attempt_id ? attempts.get(db, job.current_attempt_id) : undefined;
    const peer_id = attempt?.executor_peer_id ?? job.assigned_peer_id;
    if (peer_id !== null && !ended.has(peer_id)) ended.set(peer_id, job);
  }
  const running = new Set(attempts.open(db).map(({ executor_peer_id }) => executor_peer_id));
  const filter = { owner_peer_id: null, circle: null, limit: JOBS_MAX, settled_max: 0 };
  const waiting = new Map<string, number>();
  const notBegun = NOT_BEGUN.flatMap((state) => jobRows.list(db, { ...filter, state }));
  for (const { assigned_peer_id: peer_id } of notBegun) {
    if (peer_id !== null) waiting.set(peer_id, (waiting.get(peer_id) ?? 0) + 1);
  }
  return { ended, running, waiting };
}

/** The result that the changes are of: the job or the answered ask that ended last. */
export function taskOf(
  db: Reader,
  author: FolderPeer,
  { job, task_id, chainOfJob }: {
    readonly job: StoredJob | undefined;
    readonly task_id: string | null;
    readonly chainOfJob: (job_id: string) => Chain | undefined;
  },
): Review["task"] {
  const ask = task_id === null ? undefined : askRows.ask(db, task_id);
  if (job && job.updated_at > (ask?.closed_at ?? 0)) {
    const maker = job.created_by_peer_id;
    return {
      kind: "job",
      id: job.job_id,
      title: titleOf(job.title),
      state: job.state,
      from: maker === null ? null : peers.address(db, maker)?.name ?? null,
      chain: chainOfJob(job.job_id) ?? null,
      ended_at: job.updated_at,
    };
  }
  const isTask = ({ seen_at, correlation_id }: Ask) =>
    seen_at !== null && !store.isOfReview(db, correlation_id);
  const current = ask ?? askRows.openTo(db, author.peer_id).find(isTask);
  if (!current) return null;
  return {
    kind: "ask",
    id: current.correlation_id,
    title: titleOf(current.text),
    state: current.state,
    from: current.from_peer_name,
    chain: current.chain,
    ended_at: current.closed_at,
  };
}

function titleOf(text: string): string {
  return cleanLine(text.trimStart().split("\n", 1)[0] ?? "").slice(0, TITLE_CHARS_MAX);
}

/** The outcomes of the checks and claims of an answer. One that is not known is in no list. */
export function answerChecks(db: Reader, correlation_id: string): Review["checks"] {
  return (proofs.get(db, correlation_id)?.results ?? []).flatMap(({ name, outcome }) =>
    outcome === "unknown"
      ? []
      : [{ name: cleanLine(name).slice(0, TITLE_CHARS_MAX), passed: outcome === "verified" }]
  );
}

/** The outcomes that a job stores for its checks. */
export function checksOf(job: StoredJob | undefined): Review["checks"] {
  const checks = job?.result_data?.["checks"];
  if (!Array.isArray(checks)) return [];
  return checks.flatMap((check: unknown) => {
    if (typeof check !== "object" || check === null || !("name" in check)) return [];
    // A check without a result says nothing about the change.
    if ("reason" in check && typeof check.reason === "string") return [];
    return [{
      name: cleanLine(String(check.name)).slice(0, TITLE_CHARS_MAX),
      passed: "exit" in check && check.exit === 0,
    }];
  });
}
