/**
 * Proven answers: holds an answer until the daemon has run the checks that the asker named and
 * verified the claims that its author made. A refuted answer goes back to its author once. An
 * answer that was accepted always reaches the asker or stays on record.
 */

import type { Context } from "../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Caller } from "kit/http/route.ts";
import { messageOf } from "kit/core/text.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Address } from "protocol/peers/record.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";
import type {
  MessageProof,
  Proof,
  ProofRecord,
  ProofResult,
  ReportedProof,
} from "protocol/proofs/contract.ts";
import type { ProofEvent, ProofState } from "protocol/proofs/states.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import type { GivenAnswer } from "../asks/ask_closer.ts";
import type { Asks } from "../asks/asks.ts";
import type { CheckRunner } from "../jobs/check_runner.ts";
import type { Delivery } from "../messages/delivery.ts";
import { DAEMON } from "../notifications/notifications.ts";
import type { Directory } from "../peers/directory.ts";
import { nameAndMachine } from "../peers/remote/remote_directory.ts";
import { ProofRecords } from "./records.ts";
import * as rows from "./store.ts";
import type { HeldAnswer, StoredProof } from "./store.ts";
import { noteOfAsk, proofOfAnswer, refusalText, summaryOf } from "./texts.ts";
import { Verification, type VerificationDeps } from "./verification.ts";

/** Maximum proofs that run at the same time, each in another folder. */
const RUNNING_MAX = 4;
/** Starts of the checks of one answer after which a daemon that ended each time gives up. */
const RUNS_MAX = 5;
const IS_ANSWERED: ReadonlySet<ProofState> = new Set(["verified", "refuted", "unproved"]);
const EVENTS_OF_REPORT = {
  verified: "reported_verified",
  refuted: "reported_refuted",
  unknown: "reported_unproved",
} as const satisfies Record<ProofResult["outcome"], ProofEvent>;

/** A question of proofs to the machines. */
export interface OriginOfAsks {
  /** True for an ask from another machine. */
  isFromElsewhere(correlation_id: string): boolean;
}

interface ProofsDeps extends VerificationDeps {
  readonly asks: Asks;
  readonly checkRunner: CheckRunner;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly history_ms: number;
  readonly ports: OriginOfAsks;
  /** The setting `relay.allow_admin`. */
  readonly relay_admin: boolean;
  readonly shutdownSignal: AbortSignal;
}

export class Proofs {
  readonly #ctx: Context;
  readonly #deps: ProofsDeps;
  readonly #verification: Verification;
  readonly #records: ProofRecords;
  readonly #running = new Map<string, AbortController>();

  constructor(ctx: Context, deps: ProofsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#verification = new Verification(ctx.clock, deps);
    this.#records = new ProofRecords(ctx);
  }

  /** The note of an ask on its checks. Throws if this recipient's answer cannot be checked. */
  proofFor(names: readonly string[], to: Address): MessageProof {
    if (to.role === "human") throw new Problem("prove_person", { peer: to.name });
    const checks = [...new Set(names)];
    // Another machine has checks of its own, and refuses names that it does not know.
    if (to.daemon_id === null) this.#deps.checkRunner.mustKnow(checks);
    return { state: "awaiting", note: noteOfAsk(checks), checks, results: [] };
  }

  /** A check executes what agents wrote, which a request through the relay starts nowhere else. */
  mustMayProve(via: Caller["via"]): void {
    if (via === "relay" && !this.#deps.relay_admin) throw new Problem("prove_from_relay", {});
  }

  /** Called in the transaction that stores an ask whose answer is to be checked. */
  asked(
    { correlation_id, to_peer_id }: StoredMessage,
    to: Pick<Address, "daemon_id" | "name">,
    checks: readonly string[],
  ): void {
    if (correlation_id === null) return;
    const machine = to.daemon_id === null ? undefined : nameAndMachine(to.name).machine;
    this.#ctx.db.transact((tx) => {
      const proof = { correlation_id, to_peer_id, checks, machine: machine ?? null };
      const { folder } = this.#records.insert(tx, proof);
      if (machine === undefined) {
        this.#ctx.db.afterCommit(() => {
          const reading = this.#readFiles(correlation_id, checks, folder);
          void this.#ctx.background.run("The files of checks were not read", reading);
        });
      }
    });
  }

  /** Called in the transaction of an answer. True if the answer is held. */
  holdAnswer(ask: Ask, { close_reason, details, claims }: GivenAnswer): boolean {
    const { correlation_id, to_peer_id } = ask;
    const { clock, db } = this.#ctx;
    const { directory } = this.#deps;
    const known = this.#records.openOf(correlation_id);
    if (!known && claims.length === 0) return false;
    if (known?.state === "proving") throw new Problem("answer_in_proof", { correlation_id });
    // Only a machine that named checks is known to read what was found.
    if (!known && this.#deps.ports.isFromElsewhere(correlation_id)) {
      throw new Problem("claims_elsewhere", { correlation_id });
    }
    const { role = null } = directory.address(to_peer_id) ?? {};
    const answer: HeldAnswer = {
      close_reason,
      responder: details.responder,
      reply: details.reply ?? null,
      answer: details.answer ?? null,
      attachments: details.attachments ?? [],
      reply_voice: directory.authorKindOf({ role, name: ask.to_peer_name }, details),
      sent_by: details.sent_by,
      traceparent: details.traceparent,
    };
    db.transact((tx) => {
      const proof = known ??
        this.#records.insert(tx, { correlation_id, to_peer_id, checks: [], machine: null });
      this.#records.step(tx, proof, "answered", {
        answer,
        claims: [...claims],
        answers: proof.answers + 1,
        answered_at: clock.now(),
        runs: 0,
        reason: null,
        results: [],
      });
      db.afterCommit(() => this.#start(correlation_id));
    });
    return true;
  }

  /** The findings on an answer that was given here, for the machine of its asker. */
  reportOf(correlation_id: string): ReportedProof | undefined {
    const proof = this.#records.viewOf(correlation_id, { brief: false });
    if (proof?.machine !== null || !IS_ANSWERED.has(proof.state)) return undefined;
    const { answers, claims, state } = proof;
    return { answers, claims, results: proofOfAnswer(state, proof).results };
  }

  /**
   * Called in the transaction in which the recipient's machine answers an ask, before it is closed.
   * The outcome follows from the findings on each check that was named here: a machine that ran
   * none of them, such as one that knows no checks, leaves the answer unproved.
   */
  reported({ correlation_id }: Ask, report: ReportedProof | undefined): MessageProof | undefined {
    const proof = this.#records.openOf(correlation_id);
    if (!proof || proof.machine === null) return undefined;
    const { checks, machine } = proof;
    // Names of checks stand in the daemon's own line, so only those that were named here count.
    const known = (report?.results ?? [])
      .filter(({ kind, name }) => kind === "claim" || checks.includes(name))
      .map((result) => ({
        ...result,
        output: maskSecrets(result.output, this.#deps.secrets).text,
      }));
    const isFound = (name: string) =>
      known.some((result) => result.kind === "check" && result.name === name);
    const missing = checks.filter((name) => !isFound(name));
    const reason = `${machine} reports nothing about it: its mesh may be too old`;
    const results = [...known, ...undecided({ checks: missing, claims: [] }, reason)];
    const event = EVENTS_OF_REPORT[outcomeOf(results)];
    const at = this.#ctx.clock.now();
    const ended = this.#ctx.db.transact((tx) =>
      this.#records.step(tx, proof, event, {
        results,
        claims: report?.claims ?? [],
        answers: report?.answers ?? 1,
        reason: `By the word of ${machine}: ${summaryOf(results)}`,
        answered_at: at,
        ended_at: at,
      })
    );
    return proofOfAnswer(ended.state, ended, machine);
  }

  refuseWhileProving({ correlation_id }: Ask): void {
    if (this.#records.openOf(correlation_id)?.state !== "proving") return;
    throw new Problem("answer_in_proof", { correlation_id });
  }

  /**
   * True if an ask that nobody can answer any more has a held answer. A refuted one that waits for
   * its repair goes to the asker now. One that is being checked goes there afterwards.
   */
  hasHeldAnswer({ correlation_id }: Ask): boolean {
    const proof = this.#records.openOf(correlation_id);
    if (proof?.state === "proving") return true;
    if (proof?.state !== "returned") return false;
    this.#ctx.db.transact((tx) => this.#finish(tx, proof, "given_up", proof.results));
    return true;
  }

  /** Called in the transaction that closes an ask. */
  askClosed({ correlation_id }: Ask): void {
    const proof = this.#records.openOf(correlation_id);
    if (!proof) return;
    this.#ctx.db.transact((tx) => {
      this.#records.step(tx, proof, "withdrawn", { ended_at: this.#ctx.clock.now() });
    });
    this.#ctx.db.afterCommit(() => this.#running.get(correlation_id)?.abort());
  }

  /** The proof of an ask, as its record shows it; `brief` leaves out the output. */
  viewOf(correlation_id: string, how: { readonly brief: boolean }): Proof | undefined {
    return this.#records.viewOf(correlation_id, how);
  }

  /** The outcomes of a peer's answers; null for a peer without any. */
  recordOf(peer_id: string): ProofRecord | null {
    return this.#records.ofPeer(peer_id);
  }

  /** Called once a second. Starts the checks that wait or were cut off. */
  tick(now: number): void {
    for (const id of this.#records.proving(RUNNING_MAX * 2)) this.#start(id);
    this.#records.forget(now - this.#deps.history_ms);
  }

  /** Reads the files that define the checks as they are now, before the agent works on the ask. */
  async #readFiles(
    correlation_id: string,
    checks: readonly string[],
    folder: string | null,
  ): Promise<void> {
    const files = await this.#verification.filesOf(checks, folder);
    if (this.#deps.shutdownSignal.aborted) return;
    this.#ctx.db.transact((tx) => {
      const proof = this.#records.openOf(correlation_id);
      if (proof?.state === "awaiting") rows.update(tx, { ...proof, files });
    });
  }

  /** Starts the checks of a held answer, unless they run or too many others do. */
  #start(correlation_id: string): void {
    if (this.#running.has(correlation_id) || this.#running.size >= RUNNING_MAX) return;
    if (this.#deps.shutdownSignal.aborted) return;
    const controller = new AbortController();
    this.#running.set(correlation_id, controller);
    const work = this.#prove(correlation_id, controller.signal)
      .finally(() => this.#running.delete(correlation_id));
    void this.#ctx.background.run("A proof failed to run", work);
  }

  async #prove(correlation_id: string, withdrawn: AbortSignal): Promise<void> {
    const { db } = this.#ctx;
    const begun = db.transact((tx) => {
      const proof = this.#records.openOf(correlation_id);
      if (proof?.state !== "proving") return undefined;
      const counted = { ...proof, runs: proof.runs + 1 };
      rows.update(tx, counted);
      return counted;
    });
    if (!begun) return;
    const signal = AbortSignal.any([withdrawn, this.#deps.shutdownSignal]);
    const results = begun.runs > RUNS_MAX
      ? undecided(begun, `The daemon ended during the checks ${RUNS_MAX} times`)
      : await this.#findingsOn(begun, signal);
    // After a shutdown the checks run again.
    if (!results || signal.aborted) return;
    db.transact((tx) => {
      const proof = this.#records.openOf(correlation_id);
      if (proof?.state === "proving") this.#settle(tx, proof, results);
    });
  }

  /** The findings on an answer; undefined if nobody waits for it any more. */
  async #findingsOn(proof: StoredProof, signal: AbortSignal): Promise<ProofResult[] | undefined> {
    try {
      return await this.#verification.run(proof, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const { correlation_id } = proof;
      this.#ctx.log.error("An answer could not be checked", { correlation_id, error });
      return undecided(proof, `It could not be checked: ${messageOf(error)}`);
    }
  }

  #settle(tx: Tx, proof: StoredProof, results: ProofResult[]): void {
    const outcome = outcomeOf(results);
    if (outcome !== "refuted") {
      return this.#finish(tx, proof, outcome === "verified" ? "held_true" : "undecided", results);
    }
    const isFirst = proof.answers === 1;
    if (isFirst && this.#sendBack(proof, results)) {
      return void this.#records.step(tx, proof, "sent_back", {
        results,
        reason: summaryOf(results),
      });
    }
    this.#finish(tx, proof, "disproved", results);
  }

  /** Sends a refuted answer back to its author. False if the author cannot get messages. */
  #sendBack({ correlation_id, to_peer_id }: StoredProof, results: readonly ProofResult[]): boolean {
    const { delivery, directory } = this.#deps;
    const to = directory.address(to_peer_id);
    if (!to || to.status === "retired" || !to.addressable) return false;
    try {
      this.#ctx.db.transactNested(() =>
        delivery.send({
          kind: "notify",
          from: DAEMON,
          to,
          voice: "peer",
          text: refusalText(correlation_id, results),
          circle: to.circle,
          reply_to: correlation_id,
          notice: true,
        })
      );
      return true;
    } catch (error) {
      if (!recoverableProblem(error)) throw error;
      return false;
    }
  }

  /** Ends a proof and passes the held answer on to the asker. */
  #finish(tx: Tx, proof: StoredProof, event: ProofEvent, results: ProofResult[]): void {
    const { asks } = this.#deps;
    const { answer } = proof;
    const ended_at = this.#ctx.clock.now();
    const reason = summaryOf(results);
    const ended = this.#records.step(tx, proof, event, { results, reason, ended_at });
    if (!answer) throw new Error("A proof without an answer has no outcome");
    const { close_reason, ...details } = answer;
    const ask = asks.mustGet(proof.correlation_id);
    asks.closer.close(ask, close_reason, { ...details, proof: proofOfAnswer(ended.state, ended) });
  }
}

/** The outcome of all findings on an answer. */
function outcomeOf(results: readonly ProofResult[]): ProofResult["outcome"] {
  const outcomes = new Set(results.map(({ outcome }) => outcome));
  if (outcomes.has("refuted")) return "refuted";
  return outcomes.size > 0 && !outcomes.has("unknown") ? "verified" : "unknown";
}

/** Nothing was found about the checks and claims of an answer. */
function undecided(
  { checks, claims }: Pick<StoredProof, "checks" | "claims">,
  reason: string,
): ProofResult[] {
  const result = { outcome: "unknown" as const, reason, output: "", changed: null };
  return [
    ...claims.map((name) => ({ ...result, kind: "claim" as const, name, changed_files: [] })),
    ...checks.map((name) => ({ ...result, kind: "check" as const, name, changed_files: [] })),
  ];
}
