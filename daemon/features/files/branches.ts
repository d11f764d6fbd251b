/** Finds agents in work trees of one repository whose branches change the same lines. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Context } from "../../data/context.ts";
import { Git, GitFailed, type GitHost } from "../changes/git/git.ts";
import { mergeOf } from "../changes/git/merge.ts";
import { type Repository, repositoryOf } from "../changes/git/repository.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Overlaps } from "./overlaps.ts";

/** Maximum other work trees that are compared after a turn. */
const COMPARED_MAX = 10;
/** Maximum pairs of commits that are remembered as compared. */
const PAIRS_MAX = 1_000;

interface BranchesDeps {
  readonly git: GitHost;
  readonly machine: string;
  readonly overlaps: Overlaps;
  readonly shutdownSignal: AbortSignal;
}

interface WorkTree {
  readonly peer: StoredPeer;
  readonly repository: Repository;
}

export class Branches {
  readonly #ctx: Context;
  readonly #deps: BranchesDeps;
  readonly #compared = new Map<string, true>();

  constructor(ctx: Context, deps: BranchesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Compares the branch of a peer with those of the others, by their commits. */
  async compare(peer: StoredPeer): Promise<void> {
    const own = peer.session_proved ? workTreeOf(peer) : undefined;
    if (!own) return;
    const { common_dir, root } = own.repository;
    const others = peers.livePeers(this.#ctx.db)
      .filter(({ machine, peer_id }) => machine === this.#deps.machine && peer_id !== peer.peer_id)
      // Any caller may register a peer in any folder; the agent's own report proves it.
      .filter(({ session_proved }) => session_proved)
      .flatMap((other) => workTreeOf(other) ?? [])
      .filter(({ repository }) => repository.common_dir === common_dir && repository.root !== root)
      .slice(0, COMPARED_MAX);
    if (others.length === 0) return;
    try {
      for (const other of others) await this.#compare(own, other);
    } catch (error) {
      // Such as a git that is older than 2.38, which merges in a work tree only.
      if (!(error instanceof GitFailed) && !this.#deps.shutdownSignal.aborted) throw error;
    }
  }

  async #compare(own: WorkTree, other: WorkTree): Promise<void> {
    const { git: host, overlaps, shutdownSignal: signal } = this.#deps;
    const theirs = await headOf(other.repository, host, signal);
    await using git = await Git.open(own.repository, host, signal);
    const mine = await commitOf(git);
    const pair = [mine, theirs].toSorted().join(" ");
    if (!mine || !theirs || mine === theirs || this.#compared.has(pair)) return;
    setLatest(this.#compared, pair, true, PAIRS_MAX);
    const { conflicts: paths } = await mergeOf(git, mine, theirs);
    if (paths.length === 0) return;
    overlaps.conflict(own.repository.common_dir, [own.peer, other.peer], paths);
  }
}

function workTreeOf(peer: StoredPeer): WorkTree | undefined {
  const repository = repositoryOf(peer.path);
  return typeof repository === "string" ? undefined : { peer, repository };
}

async function headOf(repository: Repository, host: GitHost, signal: AbortSignal): Promise<string> {
  await using git = await Git.open(repository, host, signal);
  return await commitOf(git);
}

/** The commit of HEAD; empty on a branch without one. */
async function commitOf(git: Git): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
  const { text } = await git.run(args, { bytes_max: 200, allowed: [0, 1, 128] });
  return text.trim();
}
