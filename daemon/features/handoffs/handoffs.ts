/** Hands a peer's work over to another: collects it, stores it as a file, and sends it. */

import type { Context } from "../../data/context.ts";
import { invalidField } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { cleanText } from "kit/core/text.ts";
import type { GitHost } from "../changes/git/git.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { Asks } from "../asks/asks.ts";
import type { Ask } from "protocol/asks/contract.ts";
import * as askRows from "../asks/store.ts";
import type { Attachments } from "../messages/attachments/attachments.ts";
import { HANDOFF_TYPE } from "protocol/messages/attachments.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { type Directory, mustBeOnMachine } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Reader, Transcripts } from "../transcripts/transcripts.ts";
import { type Bundle, toMarkdown } from "./bundle.ts";
import type { HandedOff, HandoffRequest, Manifest } from "protocol/handoffs.ts";
import { touchedFiles } from "./touched_files.ts";
import { lastTurns, type LeftOut } from "./turns.ts";

/** Maximum open asks of each direction in a bundle, and maximum characters of each text. */
const ASKS_MAX = 50;
const ASK_CHARS_MAX = 2_000;

interface HandoffsDeps {
  readonly asks: Asks;
  readonly attachments: Attachments;
  readonly directory: Directory;
  readonly notifications: Notifications;
  readonly git: GitHost;
  readonly transcripts: Pick<Transcripts, "read" | "refusalOfCopy">;
  /** The secrets of the configuration, which are masked. */
  readonly secrets: readonly string[];
  /** The name of this machine. */
  readonly machine: string;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/** The request for a bundle. */
interface BundleRequest {
  readonly of: StoredPeer;
  readonly to: Manifest["to"];
  readonly last: number;
  readonly note?: string | undefined;
  readonly files?: readonly string[];
  /** The reader for whom the bundle is made. It holds turns only if this reader may read them. */
  readonly requester: Reader;
}

export class Handoffs {
  readonly #ctx: Context;
  readonly #deps: HandoffsDeps;

  constructor(ctx: Context, deps: HandoffsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Checks the permission, collects the bundle, and stores its file and its message in one
   * transaction. `commit` runs the work that answers the request.
   */
  async send<A>(
    request: HandoffRequest,
    requester: Reader,
    requestContext: RequestContext,
    commit: (work: () => HandedOff) => A,
  ): Promise<A> {
    const { directory } = this.#deps;
    const { from_peer, circle } = request;
    const sender = directory.sender(from_peer, { circle });
    const of = this.#workOf(request, requester);
    const refusal = this.#deps.transcripts.refusalOfCopy(of, requester);
    if (refusal) throw refusal;
    const to = directory.target(request.to_peer, { circle, caller: sender });
    if (to.peer_id === of.peer_id) throw new Problem("to_self", { peer_id: to.peer_id });
    // A bundle for another machine is subject to the rules for readers on other machines.
    const isElsewhere = requester.isElsewhere || to.daemon_id !== null;
    const asked = { ...requester, isElsewhere };
    const bundle = await this.collect({ ...request, of, to, requester: asked });
    return await this.store(bundle, (attachment_id) => {
      const message = { request, to: to.peer_id, attachment_id };
      return commit(() => this.#send(bundle.manifest, message, requestContext));
    });
  }

  /** Collects the bundle of a peer's work. */
  async collect({ of, to, note, files: named = [], ...read }: BundleRequest): Promise<Bundle> {
    const { git: host, shutdownSignal: signal, transcripts } = this.#deps;
    const { last: count } = read;
    // A reader that may have a copy of the peer may read its turns, too.
    const isHuman = !transcripts.refusalOfCopy(of, read.requester);
    const wanted = { peer_id: of.peer_id, count, requester: { ...read.requester, isHuman } };
    const { turns, left_out: missingTurns } = await lastTurns(transcripts, wanted);
    const sources = { turns, named, folder: of.path };
    const { files, left_out: missingFiles } = await touchedFiles(sources, { host, signal });
    const { db, clock } = this.#ctx;
    const { peer_id, name, backend, circle, path, runtime_session_id } = of;
    const allTo = askRows.openTo(db, peer_id);
    const allFrom = askRows.openFrom(db, { peer_id, name });
    const left_out = [...missingTurns, ...missingFiles];
    left_out.push(...overLimit(allTo, "open asks to it"), ...overLimit(allFrom, "its open asks"));
    const counts = {
      turns: turns.length,
      entries: turns.flat().length,
      open_asks_to: allTo.length,
      open_asks_from: allFrom.length,
      files: files.length,
      masked_secrets: turns.flat().reduce((sum, { masked }) => sum + masked, 0),
    };
    const manifest: Manifest = {
      handoff: 1,
      from: { peer_id, name, backend, circle, folder: path, session_id: runtime_session_id },
      to: { peer_id: to.peer_id, name: to.name },
      made_at: clock.now(),
      counts,
      left_out,
    };
    const shownNote = note === undefined ? undefined : this.mask(note);
    const [asksTo, asksFrom] = [this.#masked(allTo), this.#masked(allFrom)];
    return { manifest, note: shownNote, asksTo, asksFrom, files, turns };
  }

  /** Stores a bundle as a file, and runs `within` in the same transaction. */
  async store<T>(bundle: Bundle, within: (attachment_id: string) => T): Promise<T> {
    const { from, to } = bundle.manifest;
    const file = { filename: `handoff-${from.name}-${to.name}.md`, media_type: HANDOFF_TYPE };
    const results: T[] = [];
    const bytes = new TextEncoder().encode(toMarkdown(bundle));
    await this.#deps.attachments.adopt(bytes, file, (_, id) => results.push(within(id)));
    const [result] = results;
    if (result === undefined) throw new Error("A hand-over was stored without its message");
    return result;
  }

  /** The peer whose work is handed over: the sender itself, or any peer for the human. */
  #workOf({ of_peer, from_peer, circle }: HandoffRequest, requester: Reader): StoredPeer {
    const { directory, machine } = this.#deps;
    const scope = directory.scopeOf({ circle, from_peer });
    const { peer_id, name } = directory.find(of_peer ?? from_peer, scope);
    if (!requester.isHuman && requester.peer_id !== peer_id) {
      throw new Problem("not_your_work", { peer: name });
    }
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (!peer) throw new Problem("unknown_peer", { peer: name });
    if (peer.role === "human") throw invalidField("of_peer", "Name the agent whose work it is");
    mustBeOnMachine(peer, machine);
    return peer;
  }

  #send(
    manifest: Manifest,
    { request, to: to_peer, attachment_id }: {
      readonly request: HandoffRequest;
      readonly to: string;
      readonly attachment_id: string;
    },
    requestContext: RequestContext,
  ): HandedOff {
    const { asks, notifications } = this.#deps;
    const { from_peer, ask, note } = request;
    const text = this.#textOf(manifest, { note, ask });
    const message = { from_peer, to_peer, text, attachments: [attachment_id] };
    const { ticket } = ask
      ? asks.open({ ...message, reply_delivery: "push" }, requestContext)
      : notifications.notify(message, requestContext);
    if (!ticket) throw new Error("A hand-over was sent without a message");
    const { delivery_id, correlation_id } = ticket.message;
    return {
      ok: true,
      attachment_id,
      manifest,
      kind: ask ? "ask" : "notify",
      delivery_id,
      correlation_id: ask ? correlation_id : null,
      delivery_state: ticket.state,
    };
  }

  #textOf({ from, counts }: Manifest, { note, ask }: Pick<HandoffRequest, "note" | "ask">): string {
    const { turns, open_asks_to, open_asks_from, files } = counts;
    const parts = [
      `This hands the work of @${from.name} over to you. Read the attached file first: its manifest`,
      `says what it holds and what was left out. It has ${turns} turns, the names of ${files}`,
      `files, ${open_asks_to} open asks to @${from.name} and ${open_asks_from} of its own.`,
      `The asks stay with @${from.name}.`,
      ...(ask ? ["Reply once you have taken the work over, or decline with the reason."] : []),
    ];
    return note === undefined ? parts.join(" ") : `${parts.join(" ")}\n\nNote: ${this.mask(note)}`;
  }

  #masked(asks: readonly Ask[]): Ask[] {
    return asks.slice(0, ASKS_MAX).map((ask) => {
      const text = this.mask(ask.text);
      if (text.length <= ASK_CHARS_MAX) return { ...ask, text };
      const cut = text.slice(0, ASK_CHARS_MAX);
      return { ...ask, text: `${cut}… (mesh show ${ask.correlation_id})` };
    });
  }

  /** A text with its secrets masked. */
  mask(text: string): string {
    return maskSecrets(cleanText(text), this.#deps.secrets).text;
  }
}

function overLimit(asks: readonly Ask[], what: string): LeftOut[] {
  const more = asks.length - ASKS_MAX;
  const why = `a hand-over has at most ${ASKS_MAX}`;
  return more > 0 ? [{ what: `${more} of ${what}`, why }] : [];
}
