/** Derives the queue of reviews from stored summaries, peers, asks and jobs. Runs no program. */

import type { Review, ReviewState } from "protocol/reviews/contract.ts";
import { rankWords } from "protocol/reviews/order.ts";
import type { Chain } from "protocol/origins/record.ts";
import type { Context } from "../../data/context.ts";
import * as askRows from "../asks/store.ts";
import * as peers from "../peers/store.ts";
import type { FolderPeer } from "../peers/store.ts";
import type { UsageReports } from "../usage/report.ts";
import {
  answerChecks,
  checksOf,
  isAtWork,
  type PeerJobs,
  peerJobs,
  taskOf,
  type WorkFolder,
} from "./folders.ts";
import type { StoredReview, Summary } from "./store.ts";

/** Maximum shared files that are named. */
const SHARED_NAMED_MAX = 20;

/** The facts from which the queue is made. */
export interface QueueFacts {
  readonly folders: ReadonlyMap<string, WorkFolder>;
  /** The chain that each peer works on. */
  readonly chains: ReadonlyMap<string, string>;
  readonly costs: ReturnType<UsageReports["ofChains"]>;
  readonly waiting: ReturnType<typeof askRows.pendingOfAll>;
  readonly comments: ReadonlyMap<string, readonly { readonly correlation_id: string }[]>;
  /** The peers whose work fails together with that of each peer. */
  readonly failingWith: (peer_id: string) => readonly string[];
  /** The chain of a job, as it was stored when the job was created. */
  readonly chainOfJob: (job_id: string) => Chain | undefined;
  /** True if the folder is being read, or will be. */
  readonly isDue: (folder: string) => boolean;
}

/** A review whose folder has changes. */
interface Entry {
  readonly stored: StoredReview;
  readonly summary: Summary;
  readonly at: WorkFolder;
  readonly paths: ReadonlySet<string>;
}

/** The wanted reviews that have changes. The others only count as their neighbours. */
export function toReviews(
  ctx: Context,
  { stored, isWanted }: {
    readonly stored: readonly StoredReview[];
    readonly isWanted: (review: StoredReview) => boolean;
  },
  facts: QueueFacts,
): Review[] {
  const jobs = peerJobs(ctx);
  const entries = stored.flatMap((review): Entry[] => {
    const { folder, summary } = review;
    const at = facts.folders.get(folder);
    if (!at || !summary || summary.files_total === 0) return [];
    return [{ stored: review, summary, at, paths: new Set(summary.paths) }];
  });
  const byRepository = Map.groupBy(entries, ({ summary }) => summary.repository);
  return entries.filter(({ stored }) => isWanted(stored)).map((entry) => {
    const near = byRepository.get(entry.summary.repository) ?? [];
    return toReview(ctx, entry, { facts, jobs, joined: joinedWith(entry, near) });
  });
}

interface Shared {
  readonly entry: Entry;
  readonly files: readonly string[];
}

/** The other reviews of the repository that change some of the same files. */
function joinedWith(entry: Entry, near: readonly Entry[]): Shared[] {
  return near.flatMap((other) => {
    // Two folders of one work tree show the same files: they are parts of one change.
    if (other.summary.root === entry.summary.root) return [];
    const files = entry.summary.paths.filter((path) => other.paths.has(path));
    return files.length > 0 ? [{ entry: other, files }] : [];
  });
}

function toReview(
  { db }: Context,
  { stored, summary, at }: Entry,
  { facts, jobs, joined }: {
    readonly facts: QueueFacts;
    readonly jobs: PeerJobs;
    readonly joined: readonly Shared[];
  },
): Review {
  const { author } = at;
  const job = latestJob(at, jobs);
  const { review_id, folder, placed, decision, decided_at, decided_by, read_at } = stored;
  const { paths: _paths, new_files: _new, root: _root, ...shown } = summary;
  const comments = facts.comments.get(review_id) ?? [];
  const isClosed = (id: string) => askRows.ask(db, id)?.state !== "open";
  const answered = comments.filter(({ correlation_id }) => isClosed(correlation_id)).length;
  const isAnswered = stored.correlation_id === null || isClosed(stored.correlation_id);
  // The person's own comments wait for the author; the review does not hold them up.
  const own = comments.length - answered + (isAnswered ? 0 : 1);
  const failing = facts.failingWith(author.peer_id);
  const rank = rankOf({ at, summary, joined, failing }, { facts, jobs, own });
  const task = taskOf(db, author, {
    job,
    task_id: stored.task_id,
    chainOfJob: facts.chainOfJob,
  });
  return {
    review_id,
    state: stateOf(stored, {
      digest: summary.digest,
      isWorking: at.peers.some((peer) => isAtWork(peer) || jobs.running.has(peer.peer_id)),
      isAnswered,
    }),
    author: toAuthor(author),
    others: at.peers.filter((peer) => peer !== author).map(({ name }) => name),
    folder,
    ...shown,
    task,
    fails_with: failing.map((id) => peers.address(db, id)?.name ?? id),
    checks: task?.kind === "ask" ? answerChecks(db, task.id) : checksOf(job),
    cost: costOf(author.peer_id, facts),
    joined: joined.map(toJoined),
    rank,
    decision: decision === null || decided_at === null ? null : {
      kind: decision,
      at: decided_at,
      by: decided_by ?? "",
      is_current: summary.digest !== null && stored.decision_digest === summary.digest,
      correlation_id: stored.correlation_id,
    },
    placed,
    comments: { sent: comments.length, answered },
    read_at: read_at ?? 0,
    is_due: facts.isDue(folder),
  };
}

export function toAuthor({ peer_id, name, backend, circle, status }: FolderPeer): Review["author"] {
  return { peer_id, name, backend, circle, status };
}

function toJoined({ entry, files }: Shared): Review["joined"][number] {
  return {
    review_id: entry.stored.review_id,
    name: entry.at.author.name,
    files: files.slice(0, SHARED_NAMED_MAX),
    files_total: files.length,
  };
}

/** The work that waits for the author, without `own` asks of the person, and the risk. */
function rankOf(
  { at, summary, joined, failing }: Pick<Entry, "at" | "summary"> & {
    readonly joined: readonly Shared[];
    readonly failing: readonly string[];
  },
  { facts, jobs, own }: {
    readonly facts: QueueFacts;
    readonly jobs: PeerJobs;
    readonly own: number;
  },
): Review["rank"] {
  const { peer_id } = at.author;
  const pending = facts.waiting.get(peer_id);
  const failed = joined.filter(({ entry }) => latestJob(entry.at, jobs)?.state === "failed");
  const neighbours = new Set([...failing, ...failed.map(({ entry }) => entry.at.author.peer_id)]);
  const rank = {
    waiting_asks: Math.max(0, (pending?.count ?? 0) - own),
    waiting_jobs: jobs.waiting.get(peer_id) ?? 0,
    waiting_since: pending?.oldest ?? null,
    new_files: summary.new_files,
    failing_neighbours: neighbours.size,
  };
  const lines = summary.added + summary.removed;
  return { ...rank, words: rankWords({ ...rank, lines, files: summary.files_total }) };
}

/** The state, from what a person decided and from what happens in the folder. */
export function stateOf(
  { placed, decision, decision_digest }: Pick<
    StoredReview,
    "placed" | "decision" | "decision_digest"
  >,
  { digest, isWorking, isAnswered }: {
    readonly digest: string | null;
    readonly isWorking: boolean;
    readonly isAnswered: boolean;
  },
): ReviewState {
  if (placed === "out") return "out";
  if (decision === "accepted" && digest !== null && digest === decision_digest) return "accepted";
  if (placed === "in") return "ready";
  if (decision === "sent_back" && !isAnswered) return "sent_back";
  return isWorking ? "working" : "ready";
}

function latestJob({ peers }: WorkFolder, { ended }: PeerJobs) {
  return peers.flatMap(({ peer_id }) => ended.get(peer_id) ?? [])
    .toSorted((a, b) => b.updated_at - a.updated_at)[0];
}

function costOf(peer_id: string, { chains, costs }: QueueFacts): Review["cost"] {
  const chain = chains.get(peer_id) ?? "";
  const sums = costs.get(chain);
  if (!sums) return null;
  const { input_tokens, output_tokens, cost, currency } = sums;
  return { chain, input_tokens, output_tokens, cost, currency };
}
