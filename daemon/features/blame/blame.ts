/** Follows lines of a file to what began the work on them, and says how each step is known. */

import type { Context } from "../../data/context.ts";
import { dirname, resolve } from "kit/core/path.ts";
import { ExclusiveWork } from "kit/core/exclusive.ts";
import { Problem } from "protocol/problems.ts";
import {
  type Blame as Result,
  BLAMED_LINES_MAX,
  type BlamedLines,
  type BlameLink,
  type BlameQuery,
} from "protocol/origins/blame.ts";
import { showHiddenOnLine } from "kit/core/hidden.ts";
import { originText } from "protocol/derived/origins.ts";
import { ALLOW } from "protocol/derived/waiting.ts";
import { allowedFolder, type FolderScope } from "../spawn/folders.ts";
import * as attempts from "../jobs/fires/store.ts";
import * as jobs from "../jobs/store.ts";
import { DETAILS } from "../changes/details.ts";
import { checksOf } from "../reviews/folders.ts";
import * as proofs from "../proofs/store.ts";
import { GitFailed, type GitHost } from "../changes/git/git.ts";
import { findRepository } from "../changes/git/repository.ts";
import { FilePlaces, repositoryKey } from "../files/places.ts";
import * as uses from "../files/store.ts";
import * as peers from "../peers/store.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import type { SessionReading } from "../transcripts/session_reading.ts";
import { type BlamedCommit, type FileLines, type LineSpan, readLines } from "./lines.ts";
import * as store from "./store.ts";

/** Maximum messages between a line and what began its chain. */
const STEPS_MAX = 16;
/** Maximum permissions of one agent between two messages. */
const APPROVALS_MAX = 5;
/** Characters of a claim, which an agent has written. */
const CLAIM_CHARS_MAX = 200;
const WRITERS_MAX = 5;
/** Maximum files that are read at the same time. */
const FILES_AT_ONCE = 2;
/** Clocks and commits differ: a writer counts up to so long after the author's time. */
const LATE_MS = 60_000;

interface BlameDeps {
  readonly git: GitHost;
  readonly sessionReading: Pick<SessionReading, "readAll">;
  /** False with `transcripts: off`. */
  readonly reads_sessions: boolean;
  /** The folders in which agents may read. */
  readonly folders: FolderScope;
  readonly shutdownSignal: AbortSignal;
}

/** The agent that wrote lines, and what it had read then. */
interface Writer {
  readonly peer_id: string;
  readonly how: BlameLink["how"];
  readonly at: number;
  readonly text: string;
  /** Undefined if the message must be found by its time. */
  readonly message_id?: string | null | undefined;
}

export class Blame {
  readonly #ctx: Context;
  readonly #deps: BlameDeps;
  readonly #work = new ExclusiveWork();
  #reads = 0;

  constructor(ctx: Context, deps: BlameDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  async linesOf(query: BlameQuery, reader: Reader, caller: AbortSignal): Promise<Result> {
    const { path, first } = query;
    const last = Math.min(query.last ?? first, first + BLAMED_LINES_MAX - 1);
    const place = new FilePlaces().of(resolve(path));
    const circle = await this.#circleOf(path, place.repository, reader);
    const repository = place.root === "" ? "no_repository" : findRepository(place.root);
    const about = { path, root: place.root || null, file: place.path };
    if (typeof repository === "string") return without(about, repository);
    if (this.#deps.reads_sessions) await this.#deps.sessionReading.readAll();
    try {
      const signal = AbortSignal.any([caller, this.#deps.shutdownSignal]);
      const lines = { file: place.path, first, last: Math.max(first, last) };
      const slot = `slot ${this.#reads++ % FILES_AT_ONCE}`;
      const found = await this.#work.run(
        slot,
        () => readLines(repository, lines, { host: this.#deps.git, signal }),
      );
      if (typeof found === "string") return without(about, found);
      const blamed = found.spans.map((span) => this.#blamed(span, found, { file: place, circle }));
      return { ...about, state: "ok", detail: null, lines: blamed };
    } catch (error) {
      if (this.#deps.shutdownSignal.aborted) throw new Problem("shutting_down", {});
      if (error instanceof GitFailed) return without(about, error.why);
      throw error;
    }
  }

  /**
   * The circle whose messages the reader may learn of; undefined for all. A person may ask about
   * each file, an agent about those in the repository of its folder.
   */
  async #circleOf(path: string, repository: string, reader: Reader): Promise<string | undefined> {
    if (reader.isHuman) return undefined;
    const asker = reader.peer_id === undefined
      ? undefined
      : peers.get(this.#ctx.db, reader.peer_id);
    if (!asker) throw new Problem("human_not_proven", {});
    const own = repositoryKey(asker.path);
    const allowed = await allowedFolder(dirname(resolve(path)), this.#deps.folders);
    if (own === "" || own !== repository || !allowed.ok) {
      throw new Problem("not_your_files", { path });
    }
    return asker.circle;
  }

  #blamed(
    span: LineSpan,
    { commits }: FileLines,
    { file, circle }: { readonly file: uses.FileKey; readonly circle: string | undefined },
  ): BlamedLines {
    const { first, last, commit: id } = span;
    const commit = id === null ? undefined : commits.get(id);
    const links = commit ? commitLinks(commit) : [
      link("uncommitted", "git", {
        id,
        text: id === null ? "not committed yet" : "commit, which was not read: too many commits",
      }),
    ];
    const until = commit ? commit.authored_at + LATE_MS : this.#ctx.clock.now();
    const writers = this.#writersOf(file, id, until);
    if (writers.length === 0) {
      links.push(gap("no agent is known to have written it"));
    }
    const [only] = writers;
    if (writers.length > 1) {
      links.push(gap(`which of ${writers.length} agents wrote it is not known`));
    }
    for (const writer of writers) links.push(this.#agentLink(writer));
    if (only && writers.length === 1) links.push(...this.#pathOf(only, circle));
    return { first, last, links };
  }

  /** The agents that may have written lines. An agent that reported the commit is the only one. */
  #writersOf(file: uses.FileKey, commit: string | null, until: number): Writer[] {
    const { db } = this.#ctx;
    const [reported] = commit === null ? [] : store.reportsOf(db, file.repository, commit);
    if (reported) {
      const { message_id: id, session_id } = reported;
      const message_id = id === store.UNKNOWN_MESSAGE ? undefined : id;
      const session = session_id === null ? "" : `, in its session ${showHiddenOnLine(session_id)}`;
      const text = `reported this commit${session}`;
      return [{ ...reported, message_id, how: "reported", text }];
    }
    const wrote = uses.usesOf(db, file).filter(({ wrote, first_at }) => wrote && first_at <= until)
      .map((use): Writer => ({
        peer_id: use.peer_id,
        how: "inferred",
        at: Math.min(use.last_at, until),
        text: commit === null
          ? "its session says that it wrote the file"
          : "its session says that it wrote the file before the commit",
      }));
    const [latest] = wrote;
    // The file may have been written by several agents since the last commit, or before this one.
    const unique = [...new Map(wrote.map((writer) => [writer.peer_id, writer])).values()];
    return latest && commit === null && unique.length === 1
      ? [{ ...latest, how: "reported" }]
      : unique.slice(0, WRITERS_MAX);
  }

  #agentLink({ peer_id, how, at, text }: Writer): BlameLink {
    const peer = peers.get(this.#ctx.db, peer_id);
    const backend = peer?.backend ? ` (${peer.backend})` : "";
    return link("agent", how, {
      id: peer_id,
      name: peer?.name ?? peer_id,
      at,
      text: text + backend,
    });
  }

  /** The messages from the writer up to what began their chain. */
  #pathOf({ peer_id, at, message_id, how }: Writer, circle: string | undefined): BlameLink[] {
    const { db } = this.#ctx;
    const links: BlameLink[] = [];
    let message = message_id === undefined
      ? store.readBefore(db, { peer_id, at })
      : message_id === null
      ? undefined
      : store.message(db, message_id);
    let evidence: BlameLink["how"] = message_id === undefined ? "inferred" : how;
    const chain = message?.chain ?? null;
    if (!message || !chain) {
      const text = "no message is known that the agent worked on: perhaps a prompt in its terminal";
      return [gap(text)];
    }
    for (let step = 0, until = at; message && step < STEPS_MAX; step++) {
      if (!this.#isInCircle(message, circle)) {
        return [...links, gap("the messages before it are those of another circle")];
      }
      links.push(
        ...this.#approvals(message, until),
        messageLink(message, evidence),
        ...this.#checks(message),
        ...this.#jobOf(message),
      );
      evidence = "recorded";
      until = message.created_at;
      const before = this.#before(message, chain.root);
      if (!before && !isRoot(message, chain.root)) {
        links.push(gap("the messages before it are not known"));
      }
      message = before;
    }
    const isWord = chain.machine !== null;
    links.push(
      link("origin", isWord ? "claimed" : chain.origin === "unknown" ? "unknown" : "recorded", {
        id: chain.root,
        name: chain.name,
        text: originText(chain),
      }),
    );
    return links;
  }

  /** True if the recipient of a message is in the circle, or every circle counts. */
  #isInCircle({ to_peer_id }: store.BlamedMessage, circle: string | undefined): boolean {
    return circle === undefined || peers.get(this.#ctx.db, to_peer_id)?.circle === circle;
  }

  /** The message of the same chain that the sender of a message had read before. */
  #before(message: store.BlamedMessage, root: string): store.BlamedMessage | undefined {
    const { db } = this.#ctx;
    const { seq, from_peer_id, kind, correlation_id, reply_to, created_at } = message;
    if (isRoot(message, root)) return undefined;
    const earlier_id = kind === "ack" ? correlation_id : reply_to;
    const earlier = earlier_id === null ? undefined : store.message(db, earlier_id);
    if (earlier && earlier.seq < seq) return earlier;
    return from_peer_id === null
      ? undefined
      : store.readBefore(db, { peer_id: from_peer_id, at: created_at, below: seq, root });
  }

  /** The permissions that the reader of a message asked for until it went on. */
  #approvals(message: store.BlamedMessage, until: number): BlameLink[] {
    const { to_peer_id: peer_id, seq: after, created_at: since } = message;
    const span = { peer_id, after, since, until, limit: APPROVALS_MAX + 1 };
    const found = store.approvalsOf(this.#ctx.db, span);
    const links = found.slice(0, APPROVALS_MAX).map((approval) =>
      link("approval", "recorded", {
        id: approval.correlation_id,
        name: approval.responder,
        at: approval.closed_at,
        text: `${approval.tool ?? "a tool"}: ${decisionOf(approval)}`,
      })
    );
    const hasMore = found.length > APPROVALS_MAX;
    return hasMore ? [...links, gap("earlier permissions of this turn are not listed")] : links;
  }

  /** The findings of the daemon on the answer of an ask. */
  #checks({ kind, correlation_id: id }: store.BlamedMessage): BlameLink[] {
    const proof = kind === "ask" && id !== null ? proofs.get(this.#ctx.db, id) : undefined;
    if (!proof) return [];
    const { ended_at: at, results, checks, state } = proof;
    if (results.length === 0) {
      return [link("check", "recorded", { id, at, name: checks.join(", "), text: state })];
    }
    return results.map(({ kind, name, outcome, changed }) => {
      const remark = changed === true ? "; its author changed files that define it" : "";
      const shown = showHiddenOnLine(name.slice(0, CLAIM_CHARS_MAX));
      return link("check", "recorded", {
        id,
        at,
        name: shown,
        text: `${kind}: ${outcome}${remark}`,
      });
    });
  }

  /** The job whose prompt a message is, with the outcomes of its checks. */
  #jobOf({ delivery_id }: store.BlamedMessage): BlameLink[] {
    const { db } = this.#ctx;
    const job_id = attempts.jobOfMessage(db, delivery_id);
    const job = job_id === undefined ? undefined : jobs.get(db, job_id);
    if (!job) return [];
    const outcomes = new Map(checksOf(job).map(({ name, passed }) => [name, passed]));
    const checks = (job.execution.checks ?? []).map((name) => {
      const passed = outcomes.get(name);
      return passed === undefined ? name : `${name} ${passed ? "passed" : "failed"}`;
    });
    return [link("job", "recorded", {
      id: job.job_id,
      name: job.title,
      at: job.created_at,
      text: `${job.state}${checks.length > 0 ? `, checks: ${checks.join(", ")}` : ""}`,
    })];
  }
}

/** The decision about a permission, in a word. */
function decisionOf({ outcome, option_id }: store.Approval): string {
  if (outcome === null) return "open";
  if (outcome !== "answered") return outcome.replaceAll("_", " ");
  return option_id === ALLOW ? "allowed" : "denied";
}

/** True for the message that began the chain. */
function isRoot({ correlation_id, delivery_id, kind }: store.BlamedMessage, root: string): boolean {
  return delivery_id === root || (kind === "ask" && correlation_id === root);
}

function commitLinks({ id, author, authored_at, subject, trailers, notes }: BlamedCommit) {
  return [
    link("commit", "git", { id, name: author, at: authored_at, text: subject }),
    ...trailers.map((text) => link("trailer", "claimed", { text })),
    ...notes.map(({ ref, text }) => link("note", "claimed", { id: ref, text })),
  ];
}

function messageLink(message: store.BlamedMessage, how: BlameLink["how"]): BlameLink {
  const { kind, correlation_id, delivery_id, from_peer_name, to_peer_name, sent_by } = message;
  const by = sent_by === null ? "" : `, by ${sent_by}`;
  const unproved = message.unverified ? ", and nothing proves its sender" : "";
  return link("message", how, {
    id: kind === "ask" ? correlation_id : delivery_id,
    name: from_peer_name,
    at: message.created_at,
    text: `${kind} from ${from_peer_name} to ${to_peer_name}${by}${unproved}`,
  });
}

function link(
  kind: BlameLink["kind"],
  how: BlameLink["how"],
  { id = null, name = null, at = null, text }: Partial<BlameLink> & { readonly text: string },
): BlameLink {
  return { kind, how, id, name, at, text };
}

/** A step that is missing. */
function gap(text: string): BlameLink {
  return link("gap", "unknown", { text });
}

function without(
  about: Pick<Result, "path" | "root" | "file">,
  state: Exclude<Result["state"], "ok">,
): Result {
  const detail = state === "no_file"
    ? "It is no file of text with at most 4 MB, or a link leads to it"
    : state === "no_line"
    ? "The file has fewer lines"
    : DETAILS[state];
  return { ...about, state, detail, lines: [] };
}
