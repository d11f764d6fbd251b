/** The commits that agents' hooks report: a call of a shell whose result names a new commit. */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Context } from "../../data/context.ts";
import { repositoryKey } from "../files/places.ts";
import type { Origins } from "../origins/origins.ts";
import * as peers from "../peers/store.ts";
import * as store from "./store.ts";

/** Days for which a report is kept. */
const KEPT_DAYS = 400;
/** Characters of a result in which git's line about a commit is searched for. */
const RESULT_CHARS_MAX = 20_000;
const COMMITS_MAX = 20;
const FOLDERS_MAX = 1_000;

/** git's line about a new commit: `[main 0d1f2e3] Subject`, `[main (root-commit) 0d1f2e3] Subject`. */
const NEW_COMMIT = /\[[^\][\n"\\]{1,200} ([0-9a-f]{7,64})\] /g;

interface CommitsDeps {
  readonly origins: Pick<Origins, "lastMessage">;
}

/** A tool call that a hook reported. */
interface RanCall {
  readonly input: unknown;
  readonly result?: unknown;
}

export class ReportedCommits {
  readonly #ctx: Context;
  readonly #deps: CommitsDeps;
  readonly #repositories = new Map<string, string>();

  constructor(ctx: Context, deps: CommitsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** A hook reported a tool call of a peer. Most calls make no commit. */
  callRan(peer_id: string, { input, result }: RanCall): void {
    const command = JSON.stringify(input) ?? "";
    if (!/\bgit\b/.test(command) || !/\bcommit\b/.test(command)) return;
    const text = (JSON.stringify(result) ?? "").slice(0, RESULT_CHARS_MAX);
    const found = Array.from(text.matchAll(NEW_COMMIT), ([, prefix = ""]) => prefix);
    const repository = found.length > 0 ? this.#repositoryOf(peer_id) : "";
    if (repository === "") return;
    const { db, clock } = this.#ctx;
    const at = clock.now(), message_id = this.#deps.origins.lastMessage(peer_id) ?? null;
    db.transact((tx) => {
      for (const prefix of new Set(found.slice(0, COMMITS_MAX))) {
        store.addCommit(tx, { repository, prefix, peer_id, message_id, at });
      }
      store.pruneCommits(tx, at - KEPT_DAYS * DAY_MS);
    });
  }

  /** The repository of the peer's folder; empty without one. */
  #repositoryOf(peer_id: string): string {
    const folder = peers.get(this.#ctx.db, peer_id)?.path ?? "";
    const known = this.#repositories.get(folder);
    if (known !== undefined) return known;
    const repository = repositoryKey(folder);
    setLatest(this.#repositories, folder, repository, FOLDERS_MAX);
    return repository;
  }
}
