/**
 * Joins the work trees of a repository pairwise, in a temporary folder, and runs the check there.
 * Runs in the background, one check at a time, and reports two works that pass apart and fail
 * together. Off until `joint_checks.check` names a check.
 */

import type * as z from "zod";
import type { Monotonic } from "kit/core/clock.ts";
import type {
  CheckResult,
  JointRepository,
  listJointChecks,
  PairResult,
} from "protocol/joint_checks/contract.ts";
import { Problem } from "protocol/problems.ts";
import type { Context } from "../../data/context.ts";
import { DETAILS } from "../changes/details.ts";
import { Git, GitFailed, type GitHost } from "../changes/git/git.ts";
import { mergeOf } from "../changes/git/merge.ts";
import { type Repository, repositoryOf } from "../changes/git/repository.ts";
import { repositoryKey } from "../files/places.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import { imported, sharedFiles } from "./concerns.ts";
import type { JointReports, JointWork } from "./joint_reports.ts";
import { landingOrder } from "./landing.ts";
import { type Parts, smallestParts } from "./smallest.ts";
import { type Snapshot, takeSnapshot } from "./snapshots.ts";
import { removeFolder, type Trial, type Trials } from "./trials.ts";

/** The shortest pause between two passes. A pass is followed by a pause of its own length. */
const PAUSE_MS_MIN = 60_000;
/** Maximum checks of a pass; the next pass goes on. */
const RUNS_MAX = 12;
/** Maximum work trees of a repository that are compared. */
const WORK_TREES_MAX = 20;
/** Maximum shared files that an answer and a report name. */
const FILES_MAX = 50;

interface JointChecksDeps {
  /** The name of the check; undefined if joint checks are off. */
  readonly check_name: string | undefined;
  readonly trials: Trials | undefined;
  readonly reports: JointReports;
  readonly folders: FolderScope;
  /** The folder in which temporary folders are made. */
  readonly folder: string;
  readonly git: GitHost;
  readonly machine: string;
  readonly shutdownSignal: AbortSignal;
}

/** A peer's work tree, with its snapshot, or the reason for a missing one. */
interface WorkTree {
  readonly peer: StoredPeer;
  readonly repository: Repository;
  readonly snapshot: Snapshot | string;
  trial: Trial;
}

interface Pair {
  readonly first: WorkTree;
  readonly second: WorkTree;
  readonly files: readonly string[];
  result: PairResult;
  detail: string | null;
}

const NOT_CHECKED: Trial = { result: "unknown", detail: "it was not checked yet" };

export class JointChecks {
  readonly #ctx: Context;
  readonly #deps: JointChecksDeps;
  readonly #found = new Map<string, Omit<JointRepository, "repository">>();
  /** The results that the last event reported. */
  #reported = "[]";
  #isRunning = false;
  #due_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: JointChecksDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Called once a second; starts a pass when one is due. */
  tick(now: Monotonic): void {
    if (this.#isRunning || now < this.#due_at) return;
    this.#isRunning = true;
    const { background, clock } = this.#ctx;
    const pass = this.#pass().finally(() => {
      this.#isRunning = false;
      const ended_at = clock.monotonic();
      this.#due_at = ended_at + Math.max(PAUSE_MS_MIN, ended_at - now);
      if (!this.#deps.trials) this.#due_at = Number.POSITIVE_INFINITY;
    });
    background.run("Joint checks failed", pass);
  }

  /**
   * All repositories for a person; for an agent, that of its folder, with peers of its circle.
   * Any caller may register a peer in any folder, so only an agent that reported its session itself
   * is shown the output of a check there.
   */
  list({ isHuman, peer_id }: Reader): z.output<typeof listJointChecks.returns> {
    const { check_name = null } = this.#deps;
    const asker = peer_id === undefined ? undefined : peers.get(this.#ctx.db, peer_id);
    if (!isHuman && !asker) throw new Problem("human_not_proven", {});
    const own = asker?.session_proved ? repositoryKey(asker.path) : undefined;
    const isShown = (id: string) =>
      isHuman || peers.get(this.#ctx.db, id)?.circle === asker?.circle;
    const repositories = [...this.#found].flatMap(([repository, { work_trees, pairs, ...rest }]) =>
      !isHuman && own !== repository ? [] : [{
        repository,
        ...rest,
        work_trees: work_trees.filter(({ peer_id }) => isShown(peer_id)),
        pairs: pairs.filter(({ first_peer_id, second_peer_id }) =>
          isShown(first_peer_id) && isShown(second_peer_id)
        ),
      }]
    );
    return { check: check_name, running: this.#isRunning, repositories };
  }

  /** The peers whose work fails together with that of a peer, by the last check of the pair. */
  failingWith(peer_id: string): string[] {
    return [...this.#found.values()].flatMap(({ pairs }) =>
      pairs.filter(({ result }) => result === "failed").flatMap((pair) => {
        const ids = [pair.first_peer_id, pair.second_peer_id];
        return ids.includes(peer_id) ? ids.filter((id) => id !== peer_id) : [];
      })
    );
  }

  async #pass(): Promise<void> {
    const { folder, shutdownSignal, trials } = this.#deps;
    // A daemon that was killed left its folders behind.
    await removeFolder(folder, this.#ctx.log);
    if (!trials) return;
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    const runs_max = trials.runs + RUNS_MAX;
    const groups = this.#groups();
    for (const repository of this.#found.keys()) {
      if (!groups.has(repository)) this.#found.delete(repository);
    }
    this.#deps.reports.settleGone(
      [...groups.values()].map((group) => new Set(group.map(({ peer }) => peer.peer_id))),
    );
    for (const [common_dir, group] of groups) {
      const objects = await Deno.makeTempDir({ dir: folder, prefix: "objects-" });
      try {
        await this.#checkRepository(common_dir, group, { objects, trials, runs_max });
      } catch (error) {
        if (shutdownSignal.aborted) return;
        if (!(error instanceof GitFailed)) throw error;
        this.#ctx.log.debug("Work trees could not be joined", { repository: common_dir, error });
      } finally {
        await removeFolder(objects, this.#ctx.log);
      }
    }
    this.#reportChanges();
  }

  #reportChanges(): void {
    const results = [...this.#found].map(([repository, { work_trees, pairs }]) =>
      [repository, work_trees, pairs] as const
    );
    const text = JSON.stringify(results);
    if (text === this.#reported) return;
    this.#reported = text;
    const pairs = results.flatMap(([, , pairs]) => pairs);
    const failing_pairs = pairs.filter(({ result }) => result === "failed").length;
    const { db, events } = this.#ctx;
    db.transact(() =>
      events.append("joint_checked", { repositories: results.length, failing_pairs })
    );
  }

  /** The peers of this machine in two or more work trees of a repository, by the repository. */
  #groups(): Map<string, { peer: StoredPeer; repository: Repository }[]> {
    const trees = new Map<string, { peer: StoredPeer; repository: Repository }>();
    const live = peers.livePeers(this.#ctx.db).toSorted((a, b) =>
      a.registered_at - b.registered_at || a.peer_id.localeCompare(b.peer_id)
    );
    for (const peer of live) {
      if (peer.machine !== this.#deps.machine || isSubagent(peer)) continue;
      // Any caller may register a peer in any folder; the agent's own report proves it.
      if (!peer.session_proved) continue;
      const repository = repositoryOf(peer.path);
      // Of two peers in one folder, the first one stands for its work.
      if (typeof repository !== "string" && !trees.has(repository.root)) {
        trees.set(repository.root, { peer, repository });
      }
    }
    const groups = Map.groupBy(trees.values(), ({ repository }) => repository.common_dir);
    return new Map(
      [...groups].filter(([, group]) => group.length > 1)
        .map(([common_dir, group]) => [common_dir, group.slice(0, WORK_TREES_MAX)]),
    );
  }

  async #checkRepository(
    common_dir: string,
    group: readonly { peer: StoredPeer; repository: Repository }[],
    run: { readonly objects: string; readonly trials: Trials; readonly runs_max: number },
  ): Promise<void> {
    const taken_at = this.#ctx.clock.now();
    const trees: WorkTree[] = [];
    for (const { peer, repository } of group) {
      const snapshot = await this.#snapshotOf(peer, repository, run.objects);
      const known = typeof snapshot === "string"
        ? { result: "unknown" as const, detail: snapshot }
        : run.trials.resultOf(snapshot.tree) ?? NOT_CHECKED;
      trees.push({ peer, repository, snapshot, trial: known });
    }
    const pairs = pairsOf(trees);
    const show = () => {
      const checked_at = this.#ctx.clock.now();
      this.#found.set(common_dir, { checked_at, ...this.#shown(trees, pairs) });
    };
    show();
    const [{ repository } = { repository: undefined }] = trees;
    if (!repository) return;
    const { git: host, shutdownSignal } = this.#deps;
    await using git = await Git.open(repository, host, shutdownSignal, run.objects);
    const trial = async (tree: string) =>
      run.trials.runs < run.runs_max
        ? await run.trials.run(git, tree)
        : run.trials.resultOf(tree) ?? NOT_CHECKED;
    const tryTree = async (tree: WorkTree) => {
      if (typeof tree.snapshot !== "string") tree.trial = await trial(tree.snapshot.tree);
    };
    for (const pair of pairs) {
      try {
        await this.#checkPair(git, pair, { ...run, taken_at, trial, tryTree });
      } catch (error) {
        if (!(error instanceof GitFailed) || shutdownSignal.aborted) throw error;
        // Such as a git that is older than 2.38, which merges in a work tree only.
        pair.detail = DETAILS[error.why];
      }
      show();
    }
    for (const tree of trees) await tryTree(tree);
    show();
  }

  async #snapshotOf(
    peer: StoredPeer,
    repository: Repository,
    objects: string,
  ): Promise<Snapshot | string> {
    const { folders, git: host, shutdownSignal } = this.#deps;
    const allowed = await allowedFolder(repository.root, folders);
    if (!allowed.ok) return `its check does not run: ${allowed.why}`;
    try {
      await using git = await Git.open(repository, host, shutdownSignal, objects);
      // During a turn, files may be half written: then only the commits count.
      return await takeSnapshot(git, peer.turn_state !== "working");
    } catch (error) {
      if (!(error instanceof GitFailed) || shutdownSignal.aborted) throw error;
      return DETAILS[error.why] ?? error.message;
    }
  }

  async #checkPair(git: Git, pair: Pair, { taken_at, trials, trial, tryTree }: {
    readonly taken_at: number;
    readonly trials: Trials;
    readonly trial: (tree: string) => Promise<Trial>;
    readonly tryTree: (tree: WorkTree) => Promise<void>;
  }): Promise<void> {
    const { first, second } = pair;
    if (typeof first.snapshot === "string" || typeof second.snapshot === "string") return;
    const { reports } = this.#deps;
    // During a turn, what is not committed is left out: it may be what fails, or what repairs it.
    const isWhole = [first, second].every(({ peer }) => peer.turn_state !== "working");
    const settle = () => {
      if (isWhole) reports.fits(first.peer, second.peer);
    };
    if (pair.files.length === 0) {
      pair.result = "apart";
      return settle();
    }
    const works = { first: first.snapshot, second: second.snapshot };
    const tree = await joinedTree(git, works.first.commit, works.second.commit);
    if (tree === undefined) return void (pair.result = "conflict");
    const joined = await trial(tree);
    Object.assign(pair, joined);
    if (joined.result === "passed") return settle();
    if (joined.result !== "failed") return;
    await tryTree(first);
    await tryTree(second);
    const passApart = first.trial.result === "passed" && second.trial.result === "passed";
    if (!passApart) return;
    if (reports.isReported(first.peer, second.peer)) {
      if (isWhole) reports.stillFails(first.peer, second.peer, taken_at);
      return;
    }
    // A check that fails now and then is no evidence.
    const confirmed = await trials.run(git, tree, { isConfirming: true });
    Object.assign(pair, confirmed);
    if (confirmed.result !== "failed") return;
    const parts = await smallestOf(git, works, async (joined) => (await trial(joined)).result);
    const output = confirmed.detail ?? "";
    const parts_of = [
      workOf(first, works.first, parts.first),
      workOf(second, works.second, parts.second),
    ] as const;
    // The author who uses what the other changes can adapt to it.
    const isUser = imported(works.second, works.first).length > 0;
    const [asked, other] = isUser ? [parts_of[1], parts_of[0]] : parts_of;
    const { files } = pair;
    const { common_dir: repository } = git.repository;
    await reports.report(git, { asked, other, tree, repository, output, files });
  }

  #shown(trees: readonly WorkTree[], pairs: readonly Pair[]) {
    const works = trees.map(({ peer, snapshot, trial }) => ({
      peer_id: peer.peer_id,
      name: peer.name,
      files: typeof snapshot === "string" ? 0 : snapshot.files.length,
      result: trial.result,
      needs: trees.flatMap((other) =>
        other.peer === peer || typeof snapshot === "string" || typeof other.snapshot === "string" ||
          imported(snapshot, other.snapshot).length === 0
          ? []
          : [other.peer.peer_id]
      ),
    }));
    const shownPairs = pairs.map(({ first, second, files, result, detail }) => ({
      first_peer_id: first.peer.peer_id,
      second_peer_id: second.peer.peer_id,
      result,
      files: files.slice(0, FILES_MAX),
      detail,
      correlation_id: this.#deps.reports.askOf(first.peer, second.peer),
    }));
    const order = landingOrder(
      works,
      shownPairs.map(({ first_peer_id, second_peer_id, result }) => ({
        peer_ids: [first_peer_id, second_peer_id] as const,
        result,
      })),
    );
    const work_trees = order.flatMap(({ work: { peer_id, name, files, result }, reason }) => {
      const tree = trees.find(({ peer }) => peer.peer_id === peer_id);
      if (!tree) return [];
      const { repository: { root }, snapshot, trial: { detail } } = tree;
      const branch = typeof snapshot === "string" ? null : snapshot.branch;
      return [{ peer_id, name, root, branch, files, result, detail, reason }];
    });
    return { work_trees, pairs: shownPairs };
  }
}

/** Work that changed nothing concerns nobody. */
function pairsOf(trees: readonly WorkTree[]): Pair[] {
  return trees.flatMap((first, at) =>
    trees.slice(at + 1).map((second) => {
      const known = typeof first.snapshot !== "string" && typeof second.snapshot !== "string";
      const files = known ? sharedFiles(first.snapshot, second.snapshot) : [];
      return { first, second, files, result: "unknown" as const, detail: null };
    })
  );
}

/** The files of two commits together; undefined if git cannot merge them. */
async function joinedTree(git: Git, first: string, second: string): Promise<string | undefined> {
  const { tree, isClean } = await mergeOf(git, first, second);
  return isClean ? tree : undefined;
}

/** Searches the first states of two works that fail together. */
async function smallestOf(
  git: Git,
  { first, second }: { readonly first: Snapshot; readonly second: Snapshot },
  check: (tree: string) => Promise<CheckResult>,
): Promise<Parts> {
  const last = { first: first.states.length - 1, second: second.states.length - 1 };
  return await smallestParts(last, async (parts) => {
    const [one, other] = [first.states[parts.first], second.states[parts.second]];
    if (one === undefined || other === undefined) return undefined;
    const tree = await joinedTree(git, one, other);
    if (tree === undefined) return undefined;
    const result = await check(tree);
    return result === "unknown" ? undefined : result === "failed";
  });
}

/** The part of a work that a report shows: the state that fails, and the one before it. */
function workOf({ peer }: WorkTree, snapshot: Snapshot, at: number): JointWork {
  const { base, branch, states, commit } = snapshot;
  return { peer, branch, before: states[at - 1] ?? base, after: states[at] ?? commit };
}
