/**
 * Switches a peer to another kind of agent: restarts it in the same pane, as the same peer. Its
 * first message hands the work over.
 */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { type Directory, mustGetPeer } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Restarts } from "../spawn/restarts/restarts.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import type { SwitchRequest, SwitchResult } from "protocol/handoffs.ts";
import type { Handoffs } from "./handoffs.ts";

interface SwitchesDeps {
  readonly directory: Directory;
  readonly handoffs: Handoffs;
  readonly restarts: Restarts;
}

export class Switches {
  readonly #ctx: Context;
  readonly #deps: SwitchesDeps;

  constructor(ctx: Context, deps: SwitchesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Checks first that the new command exists and the present session can be resumed. Stores the
   * hand-over after the turn has ended and before the agent is stopped.
   */
  async switch(
    argument: string,
    { backend: to_backend, profile, last, note, force, ...request }: SwitchRequest,
    requester: Reader,
  ): Promise<SwitchResult> {
    const { directory, handoffs, restarts } = this.#deps;
    const { peer_id } = directory.findFor(argument, request);
    const before = mustGetPeer(this.#ctx.db, peer_id);
    if (before.backend === to_backend) throw new Problem("same_backend", { backend: to_backend });
    let attachment_id: string | null = null;
    let session = before.runtime_session_id;
    let left_out: SwitchResult["left_out"] = [];
    const makeSeed = async () => {
      const of = mustGetPeer(this.#ctx.db, peer_id);
      session = of.runtime_session_id;
      const bundle = await handoffs.collect({ of, to: of, last, note, requester });
      left_out = bundle.manifest.left_out;
      attachment_id = await handoffs.store(bundle, (stored) => stored);
      const seed = firstMessage(before, handoffs.mask(note ?? ""));
      return { seed, seed_attachments: [attachment_id] };
    };
    const change = { to_backend, profile, force, makeSeed };
    const requestContext = { proven_human: requester.isHuman };
    const fresh = { ...request, fresh: true };
    const restart = await restarts.restart(peer_id, fresh, requestContext, change);
    const { backend: from_backend } = before;
    const isOver = restart.outcome === "failed" || restart.outcome === "cancelled";
    const isUntouched = isOver && !restart.stages.some(({ stage }) => stage === "launch");
    const way_back = session === null || isUntouched
      ? null
      : `mesh resume ${session} --backend ${from_backend}`;
    return { ...restart, peer_id, from_backend, to_backend, attachment_id, left_out, way_back };
  }
}

function firstMessage({ name, backend }: StoredPeer, note: string): string {
  const text =
    `You are @${name} from now on, in place of ${backend}, whose session has ended. Read ` +
    "the attached file first: its manifest says what it holds and what was left out. The open asks " +
    `to @${name} are yours to answer, and messages that waited for it come to you.`;
  return note === "" ? text : `${text}\n\nNote: ${note}`;
}
