/** The changes in the folder of a peer or of a job, for those who may read its transcript. */

import type { Context } from "../../data/context.ts";
import { ExclusiveWork } from "kit/core/exclusive.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import type {
  ChangedFile,
  Changes as Result,
  ChangesQuery,
  ChangesState,
} from "protocol/changes.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";
import * as attempts from "../jobs/fires/store.ts";
import * as jobs from "../jobs/store.ts";
import type { Address } from "protocol/peers/record.ts";
import { nameAndMachine } from "../peers/remote/remote_directory.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Reader, Transcripts } from "../transcripts/transcripts.ts";
import { DETAILS } from "./details.ts";
import { type ChangesElsewhere, cleanChanges } from "./elsewhere.ts";
import { GitFailed, type GitHost } from "./git/git.ts";
import { type FolderChanges, type FoundFile, listChanges, readBefore } from "./git/reader.ts";
import { readHunks } from "./git/reader.ts";
import { findRepository, realPath, type Repository } from "./git/repository.ts";
import { SharedReads } from "./shared_reads.ts";

interface ChangesDeps {
  readonly git: GitHost;
  readonly transcripts: Pick<Transcripts, "mustBeHere" | "refusalOf">;
  /** The folders of which agents may read the changes. */
  readonly folders: FolderScope;
  /** The secrets of the configuration. */
  readonly secrets: readonly string[];
  readonly shutdownSignal: AbortSignal;
}

/** Time for which a result is given again. */
const KEPT_MS = 1_000;
/** Maximum folders that are read at the same time. */
const FOLDERS_AT_ONCE = 2;

/** A request to read changes, and who sends it. */
interface ChangesRequest {
  readonly query: ChangesQuery;
  readonly reader: Reader;
  /** Aborts if the caller disconnects. */
  readonly signal: AbortSignal;
}

type PeerChanges = Result & { readonly peer_id: string; readonly name: string };

/** The changed files of a folder, and its repository. */
export interface FolderList {
  readonly repository: Repository;
  readonly changes: FolderChanges;
}

export class Changes {
  readonly #ctx: Context;
  readonly #deps: ChangesDeps;
  readonly #lists: SharedReads<FolderChanges>;
  readonly #answers: SharedReads<Result>;
  readonly #work = new ExclusiveWork();
  #reads = 0;

  constructor(ctx: Context, deps: ChangesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#lists = new SharedReads(ctx.clock, KEPT_MS);
    this.#answers = new SharedReads(ctx.clock, KEPT_MS);
  }

  /** The changes in the folder of a peer of this machine. */
  async ofPeer(peer_id: string, request: ChangesRequest): Promise<PeerChanges> {
    const peer = this.#deps.transcripts.mustBeHere(peer_id);
    this.#refuse(peer, request.reader);
    const changes = await this.#read(peer.path, peer.name, request);
    return { peer_id: peer.peer_id, name: peer.name, ...changes };
  }

  /** The changes in the folder of a peer on another machine; only for a person. */
  async ofPeerElsewhere(
    peer: Address,
    { query, reader }: Pick<ChangesRequest, "query" | "reader">,
    elsewhere: ChangesElsewhere,
  ): Promise<PeerChanges> {
    if (!reader.isHuman) throw new Problem("human_not_proven", {});
    const { machine = "" } = nameAndMachine(peer.name);
    const changes = cleanChanges(await elsewhere.read(peer, query), this.#deps.secrets);
    if (!changes) {
      throw new Problem("changes_elsewhere", { machine, reason: "its answer has another form" });
    }
    return { ...changes, peer_id: peer.peer_id, name: peer.name };
  }

  /** The changes in the folder of a job, as they are now. */
  async ofJob(job_id: string, request: ChangesRequest): Promise<Result & { job_id: string }> {
    const { db } = this.#ctx;
    const job = jobs.get(db, job_id);
    if (!job) throw new Problem("unknown_job", { job_id });
    const attempt = job.current_attempt_id ? attempts.get(db, job.current_attempt_id) : undefined;
    const executor = attempt?.executor_peer_id ?? job.execution.target.assigned_peer_id;
    const peer = executor === null ? undefined : peers.get(db, executor);
    if (peer) this.#refuse(peer, request.reader);
    else if (!request.reader.isHuman) throw new Problem("human_not_proven", {});
    const path = job.execution.target.path ?? peer?.path ?? null;
    return { job_id, ...await this.#read(path, job.title, request) };
  }

  /** The changes in a folder of a work tree, for a reader that the caller has let in. */
  ofFolder(folder: string, of: string, request: ChangesRequest): Promise<Result> {
    return this.#read(folder, of, request);
  }

  /** The changed files of a folder without their lines, or why they cannot be read. */
  async listFolder(folder: string): Promise<FolderList | Exclude<ChangesState, "ok">> {
    const repository = findRepository(folder);
    if (typeof repository === "string") return repository;
    try {
      const changes = await this.#list(repository, folder, this.#deps.shutdownSignal);
      return { repository, changes };
    } catch (error) {
      this.#mustRun();
      if (error instanceof GitFailed) return error.why;
      throw error;
    }
  }

  /** The lines of a file before the changes of its folder; undefined if it has none to read. */
  async linesBefore(
    { repository, changes: { base } }: FolderList,
    path: string,
  ): Promise<string[] | undefined> {
    const { git: host, shutdownSignal: signal } = this.#deps;
    const read = () => readBefore(repository, { commit: base.commit, path }, { host, signal });
    try {
      return await this.#inTurn(repository.root, signal, read);
    } catch (error) {
      this.#mustRun();
      throw error;
    }
  }

  /** Throws `shutting_down` if the daemon ends, which aborts all reads. */
  #mustRun(): void {
    if (this.#deps.shutdownSignal.aborted) throw new Problem("shutting_down", {});
  }

  /** A person may read the changes of every peer; others, if they may read its transcript. */
  #refuse(peer: StoredPeer, reader: Reader): void {
    if (reader.isHuman) return;
    const refusal = this.#deps.transcripts.refusalOf(peer, reader);
    if (!refusal) return;
    if (isProblem(refusal, "not_your_transcript")) {
      throw new Problem("not_your_changes", { of: peer.name, reason: refusal.fields.reason });
    }
    if (!isProblem(refusal, "transcripts_off")) throw refusal;
    throw new Problem("not_your_changes", {
      of: peer.name,
      reason: "the setting transcripts is off",
    });
  }

  async #read(
    path: string | null,
    of: string,
    { query, reader, signal }: ChangesRequest,
  ): Promise<Result> {
    const folder = path === null ? undefined : realPath(path);
    if (folder === undefined) return this.#without("no_folder", path);
    if (!reader.isHuman) {
      // A peer may have named any folder as its own.
      const allowed = await allowedFolder(folder, this.#deps.folders);
      if (!allowed.ok) throw new Problem("not_your_changes", { of, reason: allowed.why });
    }
    const repository = findRepository(folder);
    if (typeof repository === "string") return this.#without(repository, folder);
    try {
      const key = JSON.stringify([folder, query.offset, query.limit, query.file]);
      return await this.#answers.read(
        key,
        signal,
        (abandoned) => this.#answer(repository, folder, query, abandoned),
      );
    } catch (error) {
      this.#mustRun();
      if (error instanceof GitFailed) return this.#without(error.why, folder, repository);
      throw error;
    }
  }

  async #answer(
    repository: Repository,
    folder: string,
    query: ChangesQuery,
    abandoned: AbortSignal,
  ): Promise<Result> {
    const signal = AbortSignal.any([abandoned, this.#deps.shutdownSignal]);
    const host = this.#deps.git;
    const changes = await this.#list(repository, folder, signal);
    const { base, files: found, left_out, files_total, ...facts } = changes;
    const chosen = chosenFiles(found, query);
    const secrets = this.#deps.secrets;
    const alone = query.file !== undefined;
    const request = { base, files: chosen, alone };
    const read = () => readHunks(repository, request, { host, secrets, signal });
    const shown = await this.#inTurn(folder, signal, read);
    const end = query.offset + chosen.length;
    return {
      ...this.#without("ok", folder, repository),
      ...facts,
      base,
      added: sum(found, "added"),
      removed: sum(found, "removed"),
      files_total,
      files: alone ? [...shown.files] : withHunks(found, query.offset, shown.files),
      next: !alone && query.limit > 0 && end < found.length ? end : null,
      left_out: [...left_out, ...shown.left_out],
      masked: shown.masked,
    };
  }

  #list(repository: Repository, folder: string, signal: AbortSignal): Promise<FolderChanges> {
    const host = this.#deps.git;
    return this.#lists.read(folder, signal, (ended) => {
      const all = AbortSignal.any([ended, this.#deps.shutdownSignal]);
      const list = () => listChanges(repository, folder, { host, signal: all });
      return this.#inTurn(folder, all, list);
    });
  }

  /** One read of a folder at a time, and few in all. */
  #inTurn<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const slot = `slot ${this.#reads++ % FOLDERS_AT_ONCE}`;
    return this.#work.run(folder, () =>
      this.#work.run(slot, () => {
        signal.throwIfAborted();
        return work();
      }));
  }

  #without(state: ChangesState, folder: string | null, repository?: Repository): Result {
    return {
      state,
      detail: DETAILS[state],
      folder,
      root: repository?.root ?? null,
      branch: null,
      head: null,
      base: null,
      commits: null,
      operation: null,
      added: 0,
      removed: 0,
      files_total: 0,
      files: [],
      next: null,
      left_out: [],
      masked: 0,
      read_at: this.#ctx.clock.now(),
    };
  }
}

function chosenFiles(found: readonly FoundFile[], query: ChangesQuery): readonly FoundFile[] {
  const { file: name, offset, limit } = query;
  if (name === undefined) return found.slice(offset, offset + limit);
  const chosen = found.filter(({ path, file }) => path === name || file.path === name);
  if (chosen.length === 0) throw new Problem("unknown_changed_file", { file: name });
  return chosen.slice(0, 1);
}

/** All files, of which those from `offset` have hunks. */
function withHunks(
  found: readonly FoundFile[],
  offset: number,
  shown: readonly ChangedFile[],
): ChangedFile[] {
  return found.map(({ file }, at) => shown[at - offset] ?? file);
}

function sum(found: readonly FoundFile[], side: "added" | "removed"): number {
  return found.reduce((total, { file }) => total + (file[side] ?? 0), 0);
}
