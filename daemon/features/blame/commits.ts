/**
 * The commits that agents report, by a hook or in their session files: a call of a shell whose
 * result names a new commit.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { commitsIn, mayCommit } from "../agents/sessions/commits.ts";
import type { RecordedCommit } from "../files/file_uses.ts";
import { repositoryKey } from "../files/places.ts";
import type { Origins } from "../origins/origins.ts";
import * as peers from "../peers/store.ts";
import * as store from "./store.ts";

/** Days for which a report is kept. */
const KEPT_DAYS = 400;
const FOLDERS_MAX = 1_000;

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

  /** A hook reported a tool call of a peer. */
  callRan(peer_id: string, { input, result }: RanCall): void {
    if (!mayCommit(JSON.stringify(input) ?? "")) return;
    const prefixes = commitsIn(JSON.stringify(result) ?? "");
    const { db, clock } = this.#ctx;
    const at = clock.now(), message_id = this.#deps.origins.lastMessage(peer_id) ?? null;
    const session_id = peers.get(db, peer_id)?.runtime_session_id ?? null;
    db.transact((tx) => this.#add(tx, peer_id, { prefixes, message_id, session_id, at }));
  }

  /** The session file of a peer has a call that made commits. Runs in the caller's transaction. */
  recorded(tx: Tx, peer_id: string, commit: RecordedCommit): void {
    const { prefixes, prompted_by, session_id, at } = commit;
    const message = prompted_by === undefined ? undefined : store.message(tx, prompted_by);
    const isOwn = message?.to_peer_id === peer_id;
    const message_id = isOwn && prompted_by !== undefined ? prompted_by : store.UNKNOWN_MESSAGE;
    this.#add(tx, peer_id, { prefixes, message_id, session_id, at });
  }

  #add(
    tx: Tx,
    peer_id: string,
    { prefixes, ...report }: Omit<store.ReportedCommit, "peer_id"> & {
      readonly prefixes: readonly string[];
    },
  ): void {
    const repository = prefixes.length > 0 ? this.#repositoryOf(peer_id) : "";
    if (repository === "") return;
    for (const prefix of prefixes) {
      store.addCommit(tx, { ...report, repository, prefix, peer_id });
    }
    store.pruneCommits(tx, this.#ctx.clock.now() - KEPT_DAYS * DAY_MS);
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
