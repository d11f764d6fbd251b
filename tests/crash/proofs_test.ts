/** Kills the daemon in each phase of a proof: the answer arrives once, with its true outcome. */

import assert from "node:assert/strict";
import { temporary } from "../support/programs/child.ts";
import { DaemonFixture } from "../support/programs/daemon_fixture.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Chance } from "../support/seeded_random.ts";
import { until } from "../support/waiting.ts";

/** Waits for the file `exit`, and ends with its content. */
const CHECK = 'while ! test -s "$0/exit"; do sleep 0.02; done; exit "$(cat "$0/exit")"';
const KILLS = 3;

interface Row {
  readonly kind: string;
  readonly from_peer_name: string;
  readonly text: string;
}

/** An asker, an agent that answers, and a check that ends as a file says. */
class ProofFixture implements AsyncDisposable {
  readonly #state = temporary();
  readonly daemon: DaemonFixture;
  #id = "";

  constructor() {
    const { path } = this.#state;
    Deno.mkdirSync(`${path}/work`);
    this.daemon = new DaemonFixture(path, {
      MESH_JOBS__CHECKS: JSON.stringify({ tests: { argv: ["sh", "-c", CHECK, path] } }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([path]),
    });
  }

  async start(): Promise<void> {
    await this.daemon.start();
    for (const name of ["web", "api"]) {
      const place = { path: `${this.#state.path}/work`, backend: "sdk", agent_pid: Deno.pid };
      await this.daemon.post("/peers", { name, circle: "main", ...place });
    }
  }

  async restart(): Promise<void> {
    await this.daemon.kill();
    await this.daemon.start();
  }

  async ask(): Promise<void> {
    const body = { from_peer: "web", to_peer: "api", text: "Fix it", prove: ["tests"] };
    this.#id = (await this.daemon.post("/ask", body)).correlation_id;
  }

  async answer(message: string) {
    const body = { correlation_id: this.#id, from_peer: "api", message };
    return await this.daemon.post("/ack", body);
  }

  /** Lets checks end; undefined holds those that begin from now on. */
  setExit(exit: number | undefined): void {
    const path = `${this.#state.path}/exit`;
    Deno.writeTextFileSync(`${path}.part`, exit === undefined ? "" : `${exit}\n`);
    Deno.renameSync(`${path}.part`, path);
  }

  async waitFor(state: string): Promise<void> {
    const stateNow = async () => (await this.daemon.get(`/asks/${this.#id}`)).proof.state;
    await until(`a proof that is ${state}`, async () => await stateNow() === state);
  }

  /** The answers that the asker got, and the number of times that one went back. */
  async outcome() {
    const { reply, proof } = await this.daemon.get(`/asks/${this.#id}`);
    const rows = async (peer: string): Promise<Row[]> =>
      (await this.daemon.get(`/messages?peer=${peer}`)).messages;
    const acks = (await rows("web")).filter(({ kind }) => kind === "ack");
    const back = (await rows("api")).filter(({ kind, from_peer_name }) =>
      kind === "notify" && from_peer_name === "mesh"
    );
    return { reply, state: proof.state, acks: acks.length, back: back.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon[Symbol.asyncDispose]();
    this.#state[Symbol.dispose]();
  }
}

Deno.test("kill -9 while an answer is awaited or checked: it arrives once, verified", async () => {
  for (const isAnswered of [false, true]) {
    await using fixture = new ProofFixture();
    await fixture.start();
    await fixture.ask();
    if (isAnswered) await fixture.answer("Done");
    await fixture.restart();
    fixture.setExit(0);
    if (!isAnswered) await fixture.answer("Done");
    await fixture.waitFor("verified");
    await fixture.restart();
    const outcome = { reply: "Done", state: "verified", acks: 1, back: 0 };
    assert.deepEqual(await fixture.outcome(), outcome);
  }
});

Deno.test("kill -9 while an answer is back at its author, or is checked again: it is back once", async () => {
  for (const exit of [0, 1]) {
    await using fixture = new ProofFixture();
    await fixture.start();
    await fixture.ask();
    fixture.setExit(1);
    await fixture.answer("Done");
    await fixture.waitFor("returned");
    await fixture.restart();
    fixture.setExit(undefined);
    await fixture.answer("Really done");
    await fixture.waitFor("proving");
    await fixture.restart();
    assert.equal((await fixture.answer("Once more")).error, "answer_in_proof");
    fixture.setExit(exit);
    const state = exit === 0 ? "verified" : "refuted";
    await fixture.waitFor(state);
    await fixture.restart();
    const outcome = { reply: "Really done", state, acks: 1, back: 1 };
    assert.deepEqual(await fixture.outcome(), outcome);
  }
});

Deno.test("kill -9 at any moment of a check that fails: the answer is never verified, and back once", async () => {
  const seed = Date.now() % 1_000_000, chance = new Chance(seed);
  await using fixture = new ProofFixture();
  await fixture.start();
  fixture.setExit(1);
  for (let kill = 0; kill < KILLS; kill++) {
    await fixture.ask();
    await fixture.answer("Done");
    await pause(chance.below(60));
    await fixture.restart();
    await fixture.waitFor("returned");
    await fixture.answer("Really done");
    await pause(chance.below(60));
    await fixture.restart();
    await fixture.waitFor("refuted");
    const all = kill + 1;
    const outcome = { reply: "Really done", state: "refuted", acks: all, back: all };
    assert.deepEqual(await fixture.outcome(), outcome, `seed ${seed}`);
  }
});
