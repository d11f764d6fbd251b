/** Reviews: the queue of agents' changes, and what a person decides about them. */

import { DAY_MS } from "kit/core/duration.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { Problem } from "protocol/problems.ts";
import type { Review, ReviewDetail, ReviewList } from "protocol/reviews/contract.ts";
import { byRank } from "protocol/reviews/order.ts";
import type { Context } from "../../data/context.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { ChangesQuery } from "protocol/changes.ts";
import * as askRows from "../asks/store.ts";
import { realPath } from "../changes/git/repository.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Address } from "protocol/peers/record.ts";
import type { PeerState } from "../peers/changes.ts";
import { isOnMachine } from "../peers/directory.ts";
import * as peers from "../peers/store.ts";
import { allowedFolder } from "../spawn/folders.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import * as usageRows from "../usage/store.ts";
import { type WorkFolder, workFolders } from "./folders.ts";
import { shownComments } from "./comments.ts";
import type { FoundReview, ReviewsDeps } from "./deps.ts";
import { type QueueFacts, toAuthor, toReviews } from "./queue.ts";
import type { StoredReview } from "./store.ts";
import * as store from "./store.ts";
import { Summaries } from "./summaries.ts";

/** Days for which answers to comments are counted in the list. */
const COMMENT_DAYS = 30;

interface ReadRequest {
  readonly query: ChangesQuery;
  readonly reader: Reader;
  readonly signal: AbortSignal;
}

/** The person, who finds every review. */
export const PERSON: Reader = { isHuman: true, isElsewhere: false, peer_id: undefined };

export class Reviews {
  readonly #ctx: Context;
  readonly deps: ReviewsDeps;
  readonly summaries: Summaries;

  constructor(ctx: Context, deps: ReviewsDeps) {
    this.#ctx = ctx;
    this.deps = deps;
    this.summaries = new Summaries(ctx, deps);
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged(peer: PeerState): void {
    this.summaries.peerChanged(peer);
  }

  /** Called when a peer has registered or came online, or its record changed. */
  peerSeen(peer_id: string): void {
    this.summaries.peerSeen(peer_id);
  }

  /** Called for each ask that is closed. */
  askClosed({ to_peer_id, outcome }: Ask): void {
    if (outcome === "answered" || outcome === "acknowledged") {
      this.summaries.askAnswered(to_peer_id);
    }
  }

  /** The queue: all of it for a person, its own part for an agent that is proved. */
  async list(
    { all, limit, fresh }: { all: boolean; limit: number; fresh: boolean },
    reader: Reader,
  ): Promise<ReviewList> {
    const folders = workFolders(this.#ctx, this.deps.machine);
    const shown = await this.#visible(folders, reader);
    const waiting = askRows.pendingOfAll(this.#ctx.db);
    const waitingFor = ({ author }: WorkFolder) => waiting.get(author.peer_id)?.count ?? 0;
    const inOrder = shown.toSorted((a, b) => waitingFor(b) - waitingFor(a));
    // A page that shows the count alone reads only folders that were never read.
    this.summaries.refresh(inOrder.map(({ folder }) => folder), limit > 0);
    if (fresh) await this.summaries.whenRead();
    const stored = store.all(this.#ctx.db);
    const ids = new Set(shown.map(({ folder }) => folder));
    const reviews = this.#toReviews(folders, stored, ({ folder }) => ids.has(folder))
      .sort(byRank)
      .map((review) => reader.isHuman ? review : ownView(review));
    const isReady = ({ state }: Review) => state === "ready";
    const listed = all ? reviews : reviews.filter(isReady);
    const known = new Set(stored.map(({ folder }) => folder));
    const unread = inOrder.filter(({ folder }) =>
      !known.has(folder) && this.summaries.isDue(folder)
    );
    return {
      reviews: listed.slice(0, limit),
      unread: unread.slice(0, limit).map(({ author, folder }) => ({
        author: toAuthor(author),
        folder,
      })),
      ready: reviews.filter(isReady).length,
      reading: this.summaries.reading,
    };
  }

  /** A review with its diff as it is now. */
  async read(id: string, { query, reader, signal }: ReadRequest): Promise<ReviewDetail> {
    const { stored, at, list } = await this.find(id, reader);
    const { folder, author } = at;
    const changes = await this.deps.changes.ofFolder(folder, author.name, {
      query,
      reader,
      signal,
    });
    const folders = workFolders(this.#ctx, this.deps.machine);
    const near = store.ofRepository(this.#ctx.db, stored.summary?.repository ?? "");
    const isWanted = ({ review_id }: StoredReview) => review_id === stored.review_id;
    const [review] = this.#toReviews(folders, near, isWanted);
    // Without changes it is in no queue, and there is nothing to read.
    if (!review) throw new Problem("unknown_review", { review: id });
    const comments = await shownComments(this.#ctx, this.deps, {
      review_id: stored.review_id,
      list,
    });
    return { review: reader.isHuman ? review : ownView(review), changes, comments };
  }

  /** Records that a person accepts a diff. Null if it is accepted, else why it is not. */
  async accept(id: string, digest: string | undefined, person: Address): Promise<string | null> {
    const found = await this.find(id, PERSON);
    const { stored } = found;
    const { summary, review_id } = stored;
    if (!summary || summary.files_total === 0) return "It has no changes";
    if (summary.digest === null) return `It cannot be accepted: ${summary.inexact}`;
    this.mustBeSeen(found, digest);
    this.#ctx.db.transact((tx) => {
      const now = store.get(tx, review_id) ?? stored;
      this.#decide(tx, { ...now, placed: null, correlation_id: null }, {
        decision: "accepted",
        decided_by: person.name,
      });
    });
    return null;
  }

  /** Refuses a decision about another diff than the one that the person has seen. */
  mustBeSeen({ stored: { summary }, at }: FoundReview, digest: string | undefined): void {
    if (digest !== undefined && !summary?.digest?.startsWith(digest)) {
      throw new Problem("diff_changed", { review: at.author.name });
    }
  }

  /** Sends changes back to their author with an ask. Runs in the caller's transaction. */
  sendBack(
    { stored, at }: FoundReview,
    text: string,
    { person, context }: { readonly person: Address; readonly context: RequestContext },
  ): string {
    return this.#ctx.db.transact((tx) => {
      const { ticket } = this.deps.asks.open({
        from_peer: person.peer_id,
        to_peer: at.author.peer_id,
        text: [
          `Your changes in ${stored.folder} are sent back:`,
          text,
          "Answer this ask once they are ready to be reviewed again.",
        ].join("\n\n"),
        reply_delivery: "push",
      }, context);
      const correlation_id = ticket?.message.correlation_id ?? "";
      this.#decide(tx, { ...stored, placed: null, correlation_id }, {
        decision: "sent_back",
        decided_by: person.name,
      });
      return correlation_id;
    });
  }

  /** Puts a review into the queue or takes it out, for a person. */
  async place(id: string, placed: StoredReview["placed"]): Promise<void> {
    const { stored, at } = await this.find(id, PERSON);
    this.#ctx.db.transact((tx) => {
      const now = store.get(tx, stored.review_id) ?? stored;
      store.update(tx, { ...now, placed, ...(placed === "in" && NO_DECISION) });
      this.publish(stored.review_id, at.author.peer_id, "placed");
    });
  }

  /** The person who decides. Routes call it before a verb that decides. */
  mustBePerson(reader: Reader): Address {
    if (!reader.isHuman) throw new Problem("human_not_proven", {});
    return this.deps.directory.mustHuman();
  }

  publish(review_id: string, peer_id: string | null, event: string): void {
    this.#ctx.events.append("review_changed", { review_id, peer_id, event });
  }

  /** The review that an argument names: its id, or its peer's. Its folder is read now. */
  async find(id: string, reader: Reader): Promise<FoundReview> {
    const folders = workFolders(this.#ctx, this.deps.machine);
    const known = store.get(this.#ctx.db, id);
    const at = folders.get(known?.folder ?? this.#folderOfPeer(id, reader));
    const [visible] = at ? await this.#visible(new Map([[at.folder, at]]), reader) : [];
    if (!at || !visible) throw new Problem("unknown_review", { review: id });
    const { review, list } = await this.summaries.read(at.folder);
    if (!list) throw new Problem("unknown_review", { review: id });
    return { stored: review, at, list };
  }

  #folderOfPeer(id: string, { peer_id: from_peer }: Reader): string {
    const { directory, machine } = this.deps;
    const { peer_id } = directory.find(id, directory.scopeOf({ from_peer }));
    const peer = peers.get(this.#ctx.db, peer_id);
    const isHere = peer !== undefined && isOnMachine(peer, machine);
    return (isHere && peer.path !== null && realPath(peer.path)) || "";
  }

  /** A person sees all folders. An agent sees its own, where agents may start. */
  async #visible(
    folders: ReadonlyMap<string, WorkFolder>,
    { isHuman, isElsewhere, peer_id }: Reader,
  ): Promise<WorkFolder[]> {
    if (isHuman) return [...folders.values()];
    if (peer_id === undefined || isElsewhere) throw new Problem("human_not_proven", {});
    const own = [...folders.values()].filter(({ author }) => author.peer_id === peer_id);
    const allowed = await Promise.all(
      own.map(({ folder }) => allowedFolder(folder, this.deps.folders)),
    );
    return own.filter((_, index) => allowed[index]?.ok === true);
  }

  #decide(
    tx: Tx,
    stored: StoredReview,
    decision: Pick<StoredReview, "decision" | "decided_by">,
  ): void {
    const decided_at = this.#ctx.clock.now();
    const decision_digest = stored.summary?.digest ?? null;
    store.update(tx, { ...stored, ...decision, decided_at, decision_digest });
    this.publish(stored.review_id, null, decision.decision ?? "decided");
  }

  /** The wanted reviews. The others of `stored` only count as their neighbours. */
  #toReviews(
    folders: ReadonlyMap<string, WorkFolder>,
    stored: readonly StoredReview[],
    isWanted: (review: StoredReview) => boolean,
  ): Review[] {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    const authors = stored.filter(isWanted).flatMap(({ folder }) => {
      return folders.get(folder)?.author.peer_id ?? [];
    });
    const chains = new Map(authors.map((peer_id) => {
      return [peer_id, usageRows.workAt(db, peer_id, now)?.chain ?? ""];
    }));
    const wanted = [...new Set(chains.values())].filter((chain) => chain !== "");
    const comments = store.commentAsks(db, now - COMMENT_DAYS * DAY_MS);
    const facts: QueueFacts = {
      folders,
      chains,
      costs: wanted.length > 0 ? this.deps.usageReports.ofChains(wanted) : new Map(),
      waiting: askRows.pendingOfAll(db),
      comments: Map.groupBy(comments, ({ review_id }) => review_id),
      failingWith: (peer_id) => this.deps.jointChecks.failingWith(peer_id),
      chainOfJob: (job_id) => this.deps.origins.memberChain(job_id),
      isDue: (folder) => this.summaries.isDue(folder),
    };
    return toReviews(this.#ctx, { stored, isWanted }, facts);
  }
}

/** Changes that are put into the queue are to be decided again. */
const NO_DECISION = {
  decision: null,
  decided_at: null,
  decided_by: null,
  decision_digest: null,
  correlation_id: null,
} as const;

/** A review for its author: nothing of other peers, and no cost. */
function ownView(review: Review): Review {
  return { ...review, others: [], joined: [], fails_with: [], cost: null };
}
