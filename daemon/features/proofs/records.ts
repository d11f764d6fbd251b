/** The records of proofs: creates them, takes their steps and shows them. */

import type { Context } from "../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Proof, ProofRecord, ProofResult } from "protocol/proofs/contract.ts";
import { type ProofEvent, proofMachine } from "protocol/proofs/states.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { insertStage } from "../messages/ledger/stages.ts";
import * as peers from "../peers/store.ts";
import * as rows from "./store.ts";
import type { StoredProof } from "./store.ts";
import { noteOfAsk } from "./texts.ts";

const FORGET_ROWS_MAX = 100;

export class ProofRecords {
  readonly #ctx: Context;
  /** The asks with an open proof. Other asks cost no query. */
  readonly #open: Set<string>;
  #isAny: boolean;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#open = new Set(rows.openIds(ctx.db));
    this.#isAny = rows.isAny(ctx.db);
  }

  /** The open proof of an ask; undefined for an ask without one. */
  openOf(correlation_id: string): StoredProof | undefined {
    if (!this.#open.has(correlation_id)) return undefined;
    const proof = rows.get(this.#ctx.db, correlation_id);
    return proof && !proofMachine.isFinal(proof.state) ? proof : undefined;
  }

  /** The ids of the asks whose answers are held, oldest first. */
  proving(limit: number): string[] {
    return this.#open.size > 0 ? rows.provingIds(this.#ctx.db, limit) : [];
  }

  /** The proof of an ask, as its record shows it; `brief` leaves out the output. */
  viewOf(correlation_id: string, { brief }: { readonly brief: boolean }): Proof | undefined {
    const proof = this.#isAny ? rows.get(this.#ctx.db, correlation_id) : undefined;
    if (!proof) return undefined;
    const { correlation_id: _id, to_peer_id: _to, files: _files, answer, runs: _, ...shown } =
      proof;
    return {
      ...shown,
      results: brief ? shown.results.map((result) => ({ ...result, output: "" })) : shown.results,
      undelivered: shown.state === "withdrawn" ? answer?.reply ?? null : null,
    };
  }

  /** The outcomes of a peer's answers; null for a peer without any. */
  ofPeer(peer_id: string): ProofRecord | null {
    if (!this.#isAny) return null;
    const record = rows.recordOf(this.#ctx.db, peer_id);
    return record.verified + record.refuted + record.unproved > 0 ? record : null;
  }

  insert(
    tx: Tx,
    { correlation_id, to_peer_id, checks, machine }:
      & Pick<StoredProof, "correlation_id" | "to_peer_id" | "machine">
      & { readonly checks: readonly string[] },
  ): StoredProof {
    const proof: StoredProof = {
      correlation_id,
      to_peer_id,
      state: "awaiting",
      checks: [...checks],
      claims: [],
      machine,
      // An agent that registers another folder later is not checked there.
      folder: peers.get(tx, to_peer_id)?.path ?? null,
      files: null,
      answer: null,
      answers: 0,
      runs: 0,
      reason: null,
      results: [],
      created_at: this.#ctx.clock.now(),
      answered_at: null,
      ended_at: null,
    };
    rows.insert(tx, proof);
    this.#open.add(correlation_id);
    this.#isAny = true;
    return proof;
  }

  /** Takes a step: stores it, and reports it on the ask, in its trace and as an event. */
  step(
    tx: Tx,
    proof: StoredProof,
    event: ProofEvent,
    change: Partial<StoredProof>,
  ): StoredProof {
    const { correlation_id, checks } = proof;
    const state = proofMachine.step(proof.state, event);
    const isFinal = proofMachine.isFinal(state);
    const next = { ...proof, ...change, state, ...(isFinal && { files: null }) };
    rows.update(tx, next);
    if (isFinal) this.#ctx.db.afterCommit(() => void this.#open.delete(correlation_id));
    const message = ledger.findMessage(tx, correlation_id);
    if (!message) return next;
    const note = checks.length > 0 ? noteOfAsk(checks) : "";
    ledger.setProof(tx, message.seq, { state, note, checks, results: [] });
    insertStage(tx, {
      delivery_id: message.delivery_id,
      stage: `answer_${state}`,
      status: state === "proving" || state === "verified" ? "ok" : "fail",
      ts: this.#ctx.clock.now(),
      detail: next.reason,
    });
    const count = (outcome: ProofResult["outcome"]) =>
      next.results.filter((result) => result.outcome === outcome).length;
    this.#ctx.events.append("proof", {
      correlation_id,
      state,
      from_peer_id: message.from_peer_id,
      from: message.from_peer_name,
      to_peer_id: message.to_peer_id,
      to: message.to_peer_name,
      verified: count("verified"),
      refuted: count("refuted"),
      unknown: count("unknown"),
    });
    return next;
  }

  /** Deletes some proofs that ended before an instant. */
  forget(before: number): void {
    const { db } = this.#ctx;
    if (!this.#isAny || !rows.hasEndedBefore(db, before)) return;
    db.transact((tx) => rows.removeEndedBefore(tx, before, FORGET_ROWS_MAX));
  }
}
