/** Recall: answered asks of a project that are similar to a new question. */

import type { Context } from "../../data/context.ts";
import type { Messages } from "../messages/log/message_log.ts";
import type { Directory } from "../peers/directory.ts";
import { isOnMachine } from "../peers/directory.ts";
import * as peers from "../peers/store.ts";
import { RECALLED_MAX, type RecalledAsk } from "protocol/asks/recall.ts";
import { namedFiles, type Project, projectOf } from "./projects.ts";
import { shareOf, stemsOf, toMatch } from "./similarity.ts";
import * as rows from "./store.ts";

/** Maximum messages that are searched, and asks that are compared. They bound a request's time. */
const SCANNED_MAX = 2_000;
const COMPARED_MAX = 100;
/** Characters of questions and answers that are compared, and that are shown. */
const COMPARED_CHARS = 400;
const SHOWN_CHARS = 1_000;
/** Part of the words that two questions share if one asks what the other asked. */
const SAME_SHARE = 0.6;
/** Part of the words that an earlier ask with its answer has. */
const FOUND_SHARE = 0.5;
const DEFAULT_CIRCLE = "default";

interface RecallDeps {
  readonly directory: Pick<Directory, "scopeOf">;
  readonly messages: Pick<Messages, "catchUp">;
  /** The name of this machine. */
  readonly machine: string;
  /** The circles without recall; `*` is all. */
  readonly off: readonly string[];
}

interface RecallQuery {
  readonly q: string;
  readonly from_peer?: string | undefined;
  readonly circle?: string | undefined;
  readonly path?: string | undefined;
  readonly same?: boolean | undefined;
}

/** The asks that an asker may find. */
interface Scope {
  readonly circle: string;
  readonly project: Project | undefined;
  readonly agent_id: string | null;
}

/** An earlier ask, and how similar it is. */
interface Candidate {
  readonly ask: rows.AnsweredAsk;
  /** The folders of its peers in the project. */
  readonly folders: readonly string[];
  readonly share: number;
}

export class Recall {
  readonly #ctx: Context;
  readonly #deps: RecallDeps;

  constructor(ctx: Context, deps: RecallDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  find({ q, same = false, ...query }: RecallQuery) {
    const { circle, path, agent_id } = this.#scopeOf(query);
    const project = path === undefined ? undefined : projectOf(path);
    const answer = { circle, project: project?.root ?? null };
    const { off } = this.#deps;
    if (off.includes(circle) || off.includes("*")) return { ...answer, off: true, matches: [] };
    const matches = this.#candidates(q, { circle, project, same, agent_id })
      .map((candidate) => this.#toRecalled(candidate));
    return { ...answer, off: false, matches };
  }

  /**
   * The circle and the folder of the asker; of the request, if it names no registered asker.
   * `agent_id` is null for a person.
   */
  #scopeOf({ from_peer, circle, path }: Omit<RecallQuery, "q">) {
    const caller = this.#deps.directory.scopeOf({ from_peer }).caller;
    const peer = caller?.peer_id ? peers.get(this.#ctx.db, caller.peer_id) : undefined;
    if (!peer || peer.role === "human") {
      return { circle: circle ?? DEFAULT_CIRCLE, path, agent_id: null };
    }
    return { circle: peer.circle, path: peer.path ?? path, agent_id: peer.peer_id };
  }

  /** The most similar asks, of which the newest stands for all with the same words. */
  #candidates(
    q: string,
    { same, ...scope }: Scope & { readonly same: boolean },
  ): Candidate[] {
    const words = stemsOf(q.slice(0, COMPARED_CHARS));
    const match = toMatch(words);
    if (match === undefined) return [];
    this.#deps.messages.catchUp();
    const limits = { scanned_max: SCANNED_MAX, chars_max: SHOWN_CHARS, limit: COMPARED_MAX };
    const found = new Map<string, Candidate>();
    const folderOf = this.#foldersIn(scope);
    const { circle } = scope;
    for (const ask of rows.answeredAsks(this.#ctx.db, { match, circle, ...limits })) {
      const asked = stemsOf(ask.text.slice(0, COMPARED_CHARS));
      const share = same
        ? Math.min(shareOf(words, asked), shareOf(asked, words))
        : shareOf(words, asked.union(stemsOf(ask.reply.slice(0, COMPARED_CHARS))));
      const folders = folderOf(ask);
      if (!folders || share < (same ? SAME_SHARE : FOUND_SHARE)) continue;
      const key = [...asked].sort().join(" ");
      if (!found.has(key)) found.set(key, { ask, folders, share });
    }
    const all = [...found.values()];
    return all.sort((left, right) => right.share - left.share).slice(0, RECALLED_MAX);
  }

  /**
   * Finds the folders of an ask's peers that lie in the project; undefined for an ask of another
   * project, for one with a peer that is in another circle by now, and for one between a person
   * and another agent: nobody expects an answer that was given to one agent to reach the others.
   */
  #foldersIn({ circle, project, agent_id }: Scope) {
    const { db } = this.#ctx;
    const projects = new Map<string, Project>();
    const projectAt = (path: string) => {
      const known = projects.get(path) ?? projectOf(path);
      projects.set(path, known);
      return known;
    };
    return ({ from_peer_id, to_peer_id }: rows.AnsweredAsk): string[] | undefined => {
      const found = [from_peer_id, to_peer_id].flatMap((id) => id && peers.get(db, id) || []);
      const agents = found.filter(({ role }) => role !== "human");
      if (agents.some((peer) => peer.circle !== circle)) return undefined;
      const isPrivate = agents.length < found.length &&
        agents.every(({ peer_id }) => peer_id !== agent_id);
      if (isPrivate && agent_id !== null) return undefined;
      const folders = agents.flatMap((peer) =>
        peer.path !== null && isOnMachine(peer, this.#deps.machine) ? [peer.path] : []
      );
      if (project === undefined) return folders;
      const inside = folders.filter((path) => projectAt(path).key === project.key);
      return inside.length > 0 ? inside : undefined;
    };
  }

  #toRecalled({ ask, folders }: Candidate): RecalledAsk {
    const { correlation_id, from_peer_name, to_peer_name, responder, reply_voice } = ask;
    const { text: question, reply: answer, created_at, closed_at } = ask;
    const age_ms = Math.max(0, this.#ctx.clock.now() - closed_at);
    return {
      correlation_id,
      from_peer_name,
      to_peer_name,
      responder,
      unverified: reply_voice === "unverified",
      question,
      answer,
      asked_at: created_at,
      answered_at: closed_at,
      age_seconds: Math.floor(age_ms / 1000),
      files: namedFiles([question, answer], folders, closed_at),
    };
  }
}
