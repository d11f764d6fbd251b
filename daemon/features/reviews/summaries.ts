/**
 * The stored summaries of what changed in the folders of agents. A folder is read when its agent
 * registers, after a turn and after a start, and when a person looks after a minute: one at a time.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "kit/core/duration.ts";
import type { Monotonic } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Context } from "../../data/context.ts";
import type { Changes, FolderList } from "../changes/changes.ts";
import * as fileUses from "../files/store.ts";
import * as askRows from "../asks/store.ts";
import type { PeerState } from "../peers/changes.ts";
import { isOnMachine } from "../peers/directory.ts";
import * as peers from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import { UnreadTurns } from "../peers/unread_turns.ts";
import { realPath } from "../changes/git/repository.ts";
import { digestOf } from "./digest.ts";
import { workFolders } from "./folders.ts";
import * as store from "./store.ts";
import type { StoredReview, Summary } from "./store.ts";

/** Age at which a summary is read again if a person looks. */
const FRESH_MS = MINUTE_MS;
/** Time for which a person waits for fresh summaries. */
const WAIT_MS_MAX = 10_000;
/** Maximum answers, the latest ones, among which the task of a folder is looked for. */
const ANSWERED_MAX = 50;
/** Days before the first read of a folder in which its task may have been answered. */
const ANSWERED_DAYS = 14;
/** Maximum folders without a repository that are remembered. */
const WITHOUT_MAX = 1_000;
/** Days for which reviews without any new read, and comments, are kept. */
const KEPT_DAYS = 90;

interface SummariesDeps {
  readonly changes: Pick<Changes, "listFolder">;
  readonly machine: string;
  readonly shutdownSignal: AbortSignal;
}

export class Summaries {
  readonly #ctx: Context;
  readonly #deps: SummariesDeps;
  readonly #unreadTurns: UnreadTurns;
  /** Folders without a repository, with the time at which each was read. */
  readonly #without = new Map<string, number>();
  /** The folders that are to be read, in this order. */
  readonly #due = new Set<string>();
  /** The folders that are being read now. */
  readonly #underWay = new Set<string>();
  #running: Promise<void> | undefined;
  /** True if a list has shown due folders, and no event has said since that they are read. */
  #isShown = false;
  #pruned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: SummariesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#unreadTurns = new UnreadTurns(ctx.clock);
  }

  /** Number of folders that are being read or will be. */
  get reading(): number {
    return this.#due.union(this.#underWay).size;
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged(peer: PeerState): void {
    this.#unreadTurns.peerChanged(peer);
  }

  askAnswered(peer_id: string): void {
    this.#unreadTurns.add(peer_id);
  }

  /** Makes the folder of a peer due if it was never read. */
  peerSeen(peer_id: string): void {
    const folder = this.#folderOf(peer_id);
    if (folder === undefined || this.#without.has(folder)) return;
    if (!store.ofFolder(this.#ctx.db, folder)) this.#unreadTurns.add(peer_id);
  }

  /** True if the folder is being read, or will be. */
  isDue(folder: string): boolean {
    return this.#due.has(folder) || this.#underWay.has(folder);
  }

  tick(now: Monotonic): void {
    this.#addFoldersOf(this.#unreadTurns.takeDue());
    this.#start();
    if (now - this.#pruned_at < DAY_MS) return;
    this.#pruned_at = now;
    const before = this.#ctx.clock.now() - KEPT_DAYS * DAY_MS;
    this.#ctx.db.transact((tx) => {
      store.prune(tx, before);
      store.pruneComments(tx, before);
    });
  }

  /** Begins to read the folders whose summaries are missing and, if `old`, those that are old. */
  refresh(folders: Iterable<string>, old: boolean): void {
    const { db, clock } = this.#ctx;
    const known = new Map(store.all(db).map((review) => [review.folder, review.read_at ?? 0]));
    const isOld = (read_at: number) => old && Math.abs(clock.now() - read_at) >= FRESH_MS;
    for (const folder of folders) {
      const read_at = known.get(folder) ?? this.#without.get(folder);
      if (read_at === undefined || isOld(read_at)) this.#due.add(folder);
    }
    this.#addFoldersOf(this.#unreadTurns.takeAll());
    this.#isShown = this.reading > 0;
    this.#start();
  }

  /** Makes the folders of peers due. */
  #addFoldersOf(peer_ids: readonly string[]): void {
    for (const peer_id of peer_ids) {
      const folder = this.#folderOf(peer_id);
      if (folder !== undefined) this.#due.add(folder);
    }
  }

  /** The folder in which an agent of this machine works. */
  #folderOf(peer_id: string): string | undefined {
    const peer = peers.get(this.#ctx.db, peer_id);
    if (!peer?.path || peer.role === "human" || isSubagent(peer)) return undefined;
    if (!isOnMachine(peer, this.#deps.machine)) return undefined;
    const folder = realPath(peer.path);
    return folder === "/" ? undefined : folder;
  }

  /** Waits for the reads that are due, as far as the limit allows. */
  async whenRead(): Promise<void> {
    await timeout(this.#ctx.clock, WAIT_MS_MAX, async (signal) => {
      while (this.#running && !signal.aborted) await this.#running;
    });
  }

  /** Reads a folder now, and stores its summary. */
  async read(folder: string): Promise<{ review: StoredReview; list: FolderList | undefined }> {
    // A turn that ends from now on makes it due again.
    this.#due.delete(folder);
    this.#underWay.add(folder);
    try {
      const found = await this.#deps.changes.listFolder(folder);
      const list = typeof found === "string" ? undefined : found;
      return { review: this.#store(folder, list), list };
    } finally {
      this.#underWay.delete(folder);
      if (this.#isShown && this.reading === 0) this.#publishRead();
    }
  }

  #start(): void {
    if (this.#running || this.#due.size === 0) return;
    const running = this.#readDue().finally(() => this.#running = undefined);
    this.#running = running;
    this.#ctx.background.run("The changes of agents could not be read", running);
  }

  async #readDue(): Promise<void> {
    const { shutdownSignal } = this.#deps;
    for (const folder of this.#due) {
      if (shutdownSignal.aborted) return;
      try {
        await this.read(folder);
      } catch (error) {
        if (!shutdownSignal.aborted) throw error;
      }
    }
  }

  /** A read that finds no change publishes nothing; lists that show due folders load once more. */
  #publishRead(): void {
    this.#isShown = false;
    const { db, events } = this.#ctx;
    const all = { review_id: null, peer_id: null, event: "read" };
    db.transact(() => events.append("review_changed", all));
  }

  #store(folder: string, list: FolderList | undefined): StoredReview {
    const { db, clock, ids, events } = this.#ctx;
    return db.transact((tx) => {
      const before = store.ofFolder(tx, folder);
      const isReview = before !== undefined || list !== undefined;
      const author = isReview ? workFolders(this.#ctx, this.#deps.machine).get(folder) : undefined;
      const task_id = this.#answeredIn(author?.peers ?? [], before) ?? before?.task_id ?? null;
      const summary = list ? this.#summaryOf(list, author?.author.peer_id, task_id) : null;
      const after: StoredReview = {
        review_id: before?.review_id ?? ids.next("review"),
        folder,
        placed: before?.placed ?? null,
        decision: before?.decision ?? null,
        decided_at: before?.decided_at ?? null,
        decided_by: before?.decided_by ?? null,
        decision_digest: before?.decision_digest ?? null,
        correlation_id: before?.correlation_id ?? null,
        summary,
        read_at: clock.now(),
        task_id,
      };
      if (!isReview) {
        // A folder without a repository is no review: it is remembered, and not stored.
        setLatest(this.#without, folder, clock.now(), WITHOUT_MAX);
        return after;
      }
      if (before) store.update(tx, after);
      else store.insert(tx, after);
      const isSame = before && before.task_id === task_id &&
        before.summary?.digest === summary?.digest && before.summary?.head === summary?.head;
      if (!isSame) {
        const { review_id } = after;
        const peer_id = author?.author.peer_id ?? null;
        events.append("review_changed", { review_id, peer_id, event: "read" });
      }
      return after;
    });
  }

  /** The ask that one of the peers answered last, as far as it is newer than the last read. */
  #answeredIn(
    found: readonly { readonly peer_id: string }[],
    before: StoredReview | undefined,
  ): string | undefined {
    const { db, clock } = this.#ctx;
    const peer_ids = found.map(({ peer_id }) => peer_id);
    // The clock may have been set back since the last read.
    const since = before?.read_at ? before.read_at - HOUR_MS : clock.now() - ANSWERED_DAYS * DAY_MS;
    const ids = askRows.answeredBy(db, { peer_ids, since, limit: ANSWERED_MAX });
    // A comment of the review is no task of its own.
    return ids.find((id) => !store.isOfReview(db, id));
  }

  #summaryOf(list: FolderList, author_id: string | undefined, task_id: string | null): Summary {
    const { repository: { root, common_dir: repository }, changes } = list;
    const { branch, head, files, files_total } = changes;
    const paths = files.map(({ file }) => file.path);
    return {
      ...digestOf(list),
      root,
      repository,
      branch,
      head,
      added: files.reduce((sum, { file }) => sum + (file.added ?? 0), 0),
      removed: files.reduce((sum, { file }) => sum + (file.removed ?? 0), 0),
      files_total,
      paths,
      new_files: this.#newFiles({ repository, paths: files.map(({ path }) => path) }, {
        author_id,
        task_id,
      }),
    };
  }

  /** The number of files that the author had not written before its task began. */
  #newFiles(
    { repository, paths }: { readonly repository: string; readonly paths: readonly string[] },
    { author_id, task_id }: {
      readonly author_id: string | undefined;
      readonly task_id: string | null;
    },
  ): number | null {
    const { db } = this.#ctx;
    const before = task_id === null ? undefined : askRows.ask(db, task_id)?.created_at;
    const author = author_id === undefined ? undefined : peers.get(db, author_id);
    // Without the agent's records, nothing says which files it has written.
    if (before === undefined || !author?.session_proved) return null;
    const written = fileUses.writtenBefore(db, { repository, peer_id: author.peer_id, before });
    const known = new Set(written);
    return paths.filter((path) => !known.has(path)).length;
  }
}
