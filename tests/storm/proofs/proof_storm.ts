/**
 * A storm on answers that are checked: agents answer, repair, refuse and end, checks hold, fail and
 * cannot run, askers give up, and the daemon is killed at any moment. No answer that was accepted
 * is lost, and none reaches its asker without a true outcome.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import type { ProgramResult, ProgramRunner } from "../../../daemon/host/programs.ts";
import { type World, world, type WorldOptions } from "../../support/world.ts";
import { KilledWorld, type KillVerb } from "../killed_world.ts";
import type { Simulation, SimulationOptions } from "../simulation.ts";

export const AGENTS = ["api", "db"] as const;
const OUTCOMES = ["verified", "refuted", "unproved"];
const SETTINGS = {
  "human.name": "sam",
  "daemon.limits.pair_per_minute": "0",
  "jobs.checks": JSON.stringify({ tests: { argv: ["tests"], files: [] } }),
};
const FINAL_TICKS_MAX = 200;

export type ProofVerb = KillVerb<ProofStorm>;

/** An ask with its proof, as the daemon has stored them. */
const ProofRow = z.object({
  correlation_id: z.string(),
  state: z.string(),
  folder: z.string().nullable(),
  answer: z.string().nullable(),
  ask_state: z.string(),
  close_reason: z.string().nullable(),
  reply: z.string().nullable(),
});
type ProofRow = z.output<typeof ProofRow>;

interface RunningCheck {
  readonly cwd: string;
  readonly end: (result: ProgramResult) => void;
}

/** The checks of one run of the daemon, which end as the storm decides. */
class StormPrograms implements ProgramRunner {
  readonly running = new Set<RunningCheck>();

  async run(
    _argv: readonly string[],
    { cwd, signal }: Parameters<ProgramRunner["run"]>[1],
  ): Promise<ProgramResult> {
    const { promise, resolve } = Promise.withResolvers<ProgramResult>();
    const check = { cwd, end: resolve };
    this.running.add(check);
    signal.addEventListener("abort", () => resolve({ exit: null, output: "" }), { once: true });
    return await promise.finally(() => this.running.delete(check));
  }
}

export class ProofStorm extends KilledWorld implements Simulation {
  /** The ids of the asks that were accepted. */
  readonly accepted = new Set<string>();
  /** The last answer to each ask that was accepted, and held. */
  readonly held = new Map<string, string>();
  readonly #verbs: readonly ProofVerb[];
  #programs = new StormPrograms();
  /** The exit codes of the checks that ended in this step, by folder. */
  #exits: (readonly [cwd: string, exit: number])[] = [];
  #before = new Map<string, ProofRow>();
  #answers = 0;

  constructor({ verbs, ...options }: SimulationOptions & { readonly verbs: readonly ProofVerb[] }) {
    super(options, "mesh-proofs-");
    this.#verbs = verbs;
    for (const name of AGENTS) Deno.mkdirSync(this.folderOf(name));
    this.start();
  }

  folderOf(name: string): string {
    return join(this.root, name);
  }

  protected openWorld(shared: WorldOptions): World {
    this.#programs = new StormPrograms();
    const settings = { ...SETTINGS, "spawn.allowed_paths": JSON.stringify([this.root]) };
    return world({ ...shared, programs: this.#programs, settings });
  }

  protected endRun(): void {
    this.#programs.running.clear();
  }

  async step(number: number): Promise<void> {
    this.#exits = [];
    this.#before = this.rows();
    await this.take(number, this, this.#verbs, {
      "no accepted ask is lost": () => this.#checkKept(),
      "no held answer is lost": () => this.#checkHeld(),
      "an outcome is what the check found": () => this.#checkTruth(),
      "no asker reads an answer without an outcome": () => this.#checkAcks(),
      "an answer goes back once": () => this.#checkSentBack(),
    });
  }

  override async settle(): Promise<void> {
    // Folders and the files of checks are read for real.
    for (let turn = 0; turn < 4; turn++) {
      await Deno.realPath(this.root);
      await super.settle();
    }
  }

  /** In the end, every check holds, and no answer stays held. */
  async finish(): Promise<void> {
    const proving = () => [...this.rows().values()].filter(({ state }) => state === "proving");
    for (let ticks = 0; ticks < FINAL_TICKS_MAX && proving().length > 0; ticks++) {
      await this.endCheck(0);
      await this.tick();
    }
    assert.deepEqual(proving(), [], "answers that stay held");
    this.#checkHeld();
    this.#checkAcks();
  }

  /** Ends one of the running checks, if there is any. */
  async endCheck(exit: number): Promise<void> {
    const running = [...this.#programs.running].toSorted((a, b) => a.cwd.localeCompare(b.cwd));
    if (running.length === 0) return;
    const { cwd, end } = this.chance.pick(running);
    this.#exits.push([cwd, exit]);
    end({ exit, output: "3 tests" });
    await this.settle();
  }

  /** An agent answers an ask; an accepted answer must not be lost. */
  async answer(correlation_id: string): Promise<void> {
    const message = `Done ${++this.#answers}`;
    const answer = await this.post("/ack", { correlation_id, message });
    if (answer["close_reason"] === null) this.held.set(correlation_id, message);
  }

  rows(): Map<string, ProofRow> {
    const found = this.w.daemon.ctx.db.all(
      ProofRow,
      `select correlation_id, proofs.state, folder, proofs.answer, ask_state, close_reason, reply
         from proofs join messages using (correlation_id) where kind = 'ask'`,
    );
    return new Map(found.map((row) => [row.correlation_id, row]));
  }

  #checkKept(): void {
    const rows = this.rows();
    for (const id of this.accepted) assert.ok(rows.has(id), `${id} is lost`);
  }

  #checkHeld(): void {
    const rows = this.rows();
    for (const [id, message] of this.held) {
      const { answer, close_reason, reply, state = "" } = rows.get(id) ?? {};
      assert.ok(answer?.includes(`"${message}"`), `${id} has lost "${message}"`);
      if (OUTCOMES.includes(state)) assert.equal(reply, message, id);
      if (state === "withdrawn") assert.match(close_reason ?? "", /^(?:cancelled|declined)$/, id);
    }
  }

  #checkTruth(): void {
    for (const [id, { state, folder }] of this.rows()) {
      const before = this.#before.get(id)?.state;
      if (state === before) continue;
      const ended = (exit: number) =>
        this.#exits.some(([cwd, of]) => cwd === folder && of === exit);
      if (state === "verified") assert.ok(ended(0), `${id} is verified`);
      if (state === "returned") assert.ok(ended(1), `${id} went back`);
      if (state === "refuted") assert.ok(ended(1) || before === "returned", `${id} is refuted`);
    }
  }

  #checkAcks(): void {
    const acks = this.w.daemon.ctx.db.all(
      z.object({ correlation_id: z.string(), proof: z.string().nullable(), reason: z.string() }),
      `select correlation_id, proof, close_reason as reason from messages where kind = 'ack'`,
    );
    const rows = this.rows();
    const ids = acks.map(({ correlation_id }) => correlation_id);
    assert.equal(new Set(ids).size, ids.length, "an answer arrived twice");
    for (const { correlation_id, proof, reason } of acks) {
      if (!rows.has(correlation_id) || !/^(?:ack|ack_with_msg|answered)$/.test(reason)) continue;
      const { state } = JSON.parse(proof ?? "{}");
      assert.ok(OUTCOMES.includes(state), `${correlation_id} has no outcome`);
      assert.equal(state, rows.get(correlation_id)?.state);
    }
  }

  #checkSentBack(): void {
    const back = this.w.daemon.ctx.db.values(
      z.string(),
      `select reply_to from messages where kind = 'notify' and reply_to is not null`,
    );
    assert.equal(new Set(back).size, back.length, "an answer went back twice");
  }
}
