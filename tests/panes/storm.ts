/** A storm on a real tmux: panes, programs, the server and the daemon end at random. */

import assert from "node:assert/strict";
import { RealDaemon } from "../support/programs/child.ts";
import { Terminal, until } from "../support/host/private_tmux.ts";
import { isAlive } from "../../daemon/host/processes.ts";
import { systemClock } from "kit/core/clock.ts";
import { Chance } from "../support/seeded_random.ts";

const PANES_MAX = 4;
/** Maximum time until the queue of a live peer has been typed at the end. */
const QUIET_MS_MAX = 120_000;
const POLL_MS = 100;
const WAIT_MS_MAX = 800;

/** A program in a pane, from its start to its end; its input is kept in a file. */
interface Execution {
  readonly number: number;
  readonly pane_id: string;
  readonly pid: number;
  /** The peer that it registered as; no program registers twice. */
  peer_id: string | undefined;
}

export interface SentMessage {
  readonly delivery_id: string;
  readonly to_peer_id: string;
  readonly token: string;
}

/** A delivery, as the daemon reports it. */
export interface Row {
  readonly delivery_id: string;
  readonly state: string;
  readonly reason: string | null;
}

export class PaneStorm implements AsyncDisposable {
  readonly #chance: Chance;
  readonly #terminal = new Terminal();
  readonly #state = Deno.makeTempDirSync({ prefix: "mesh-panes-" });
  #daemon!: RealDaemon;
  readonly programRuns: Execution[] = [];
  readonly sent: SentMessage[] = [];
  /** Number of runs of each verb. */
  readonly verbCounts = new Map<string, number>();

  private constructor(seed: number) {
    this.#chance = new Chance(seed);
  }

  static async start(seed: number): Promise<PaneStorm> {
    const storm = new PaneStorm(seed);
    await storm.#startDaemon();
    return storm;
  }

  async step(): Promise<void> {
    const { name, run } = this.#chance.weighted(VERBS);
    this.verbCounts.set(name, (this.verbCounts.get(name) ?? 0) + 1);
    await run(this);
  }

  /** Opens a pane with a program that records the lines it reads. */
  async open(): Promise<void> {
    if (this.runningExecutions.length >= PANES_MAX) return;
    const number = this.programRuns.length;
    const pane_id = this.#terminal.start(this.#command(number), `s${number}`);
    await this.#recordExecution(number, pane_id);
  }

  /** Registers the program of a pane: as a new peer, or as an earlier one, which is refused. */
  async register(): Promise<void> {
    const unregistered = this.runningExecutions.filter(({ peer_id }) => peer_id === undefined);
    if (unregistered.length === 0) return;
    const execution = this.#chance.pick(unregistered);
    const { pane_id, pid: agent_pid } = execution;
    const location = { pane_id, agent_pid, tmux_socket: this.#terminal.socket };
    const ended = this.peers.filter((id) =>
      !this.runningExecutions.some(({ peer_id }) => peer_id === id)
    );
    const claim = ended.length > 0 && this.#chance.oneIn(3)
      ? { peer_id: this.#chance.pick(ended), name: undefined }
      : { name: `agent-${execution.number}` };
    const identity = { path: "/work", backend: "generic", circle: "storm", ...claim };
    const answer = await this.#post("/peers", { ...location, ...identity });
    if (answer["ok"] === true) execution.peer_id = String(answer["peer_id"]);
    else assert.match(String(answer["error"]), /^(identity_not_proven|peer_retired)$/);
  }

  async notify(): Promise<void> {
    if (this.peers.length === 0) return;
    const isAvailable = this.runningExecutions.flatMap(({ peer_id }) => peer_id ?? []);
    const candidates = isAvailable.length > 0 && !this.#chance.oneIn(5) ? isAvailable : this.peers;
    const to_peer = this.#chance.pick(candidates);
    const token = `token-${String(this.sent.length).padStart(5, "0")}`;
    const message = { from_peer: "cli", to_peer, text: `${token} for ${to_peer}` };
    const { delivery_id } = await this.#post("/notify", message);
    if (typeof delivery_id === "string") {
      this.sent.push({ delivery_id, to_peer_id: to_peer, token });
    }
  }

  /** Another, unregistered program takes a pane over. */
  async swap(): Promise<void> {
    const execution = this.#pickExecution();
    if (!execution) return;
    const number = this.programRuns.length;
    this.#terminal.cli("respawn-pane", "-k", "-t", execution.pane_id, this.#command(number));
    await until("its predecessor's end", () => !isAlive(execution.pid));
    await this.#recordExecution(number, execution.pane_id);
  }

  async closePane(): Promise<void> {
    const execution = this.#pickExecution();
    if (!execution) return;
    this.#terminal.cli("kill-pane", "-t", execution.pane_id);
    await until("its program's end", () => !isAlive(execution.pid));
  }

  async endProcess(): Promise<void> {
    const execution = this.#pickExecution();
    if (!execution) return;
    Deno.kill(execution.pid, "SIGKILL");
    await until("its end", () => !isAlive(execution.pid));
  }

  /** The server ends; the next pane starts another one, which counts its panes from 1. */
  async killServer(): Promise<void> {
    const [execution] = this.runningExecutions;
    if (!execution) return;
    const pid = Number(this.#terminal.format(execution.pane_id, "#{pid}"));
    Deno.kill(pid, "SIGKILL");
    await until(
      "the end of it and its programs",
      () => !isAlive(pid) && this.runningExecutions.length === 0,
    );
  }

  async killDaemon(): Promise<void> {
    await this.#daemon.kill();
    await this.#startDaemon();
  }

  async remove(): Promise<void> {
    if (this.peers.length === 0) return;
    const init = { method: "DELETE" };
    const id = this.#chance.pick(this.peers);
    const answer = await fetch(`${this.#daemon.base}/peers/${id}`, init);
    await answer.body?.cancel();
  }

  async wait(): Promise<void> {
    await systemClock.sleep(this.#chance.below(WAIT_MS_MAX));
  }

  /** The programs that still run in their panes. */
  get runningExecutions(): readonly Execution[] {
    return this.programRuns.filter(({ pid }) => isAlive(pid));
  }

  get peers(): string[] {
    return [...new Set(this.programRuns.flatMap(({ peer_id }) => peer_id ?? []))];
  }

  /** The lines that a program has read. */
  read({ number }: Execution): string[] {
    return this.#terminal.read(`got-${number}`).split("\n").filter((line) => line !== "");
  }

  /** All messages, once none is in progress and none is queued for a live peer. */
  async settle(): Promise<ReadonlyMap<string, Row>> {
    const deadline = Date.now() + QUIET_MS_MAX;
    for (;;) {
      const rows = await this.#rows();
      const waits = this.sent.filter(({ delivery_id, to_peer_id }) => {
        const state = rows.get(delivery_id)?.state;
        return state === "attempting" || state === "queued" && this.#isRunning(to_peer_id);
      });
      if (waits.length === 0) return rows;
      if (Date.now() > deadline) throw new Error(`Timed out waiting for: ${JSON.stringify(waits)}`);
      await systemClock.sleep(POLL_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon.stop();
    await this.#terminal[Symbol.asyncDispose]();
    Deno.removeSync(this.#state, { recursive: true });
  }

  async #startDaemon(): Promise<void> {
    this.#daemon = await RealDaemon.start(this.#state);
  }

  #command(number: number): string {
    return `printf 'ready\\n'; exec cat > ${this.#terminal.dir}/got-${number}`;
  }

  async #recordExecution(number: number, pane_id: string): Promise<void> {
    const isCat = () => this.#terminal.format(pane_id, "#{pane_current_command}") === "cat";
    await until("the program", isCat);
    const pid = Number(this.#terminal.format(pane_id, "#{pane_pid}"));
    this.programRuns.push({ number, pane_id, pid, peer_id: undefined });
  }

  #pickExecution(): Execution | undefined {
    return this.runningExecutions.length === 0
      ? undefined
      : this.#chance.pick(this.runningExecutions);
  }

  #isRunning(to_peer_id: string): boolean {
    return this.runningExecutions.some(({ peer_id }) => peer_id === to_peer_id);
  }

  async #rows(): Promise<Map<string, Row>> {
    const answer = await fetch(`${this.#daemon.base}/deliveries?limit=500`);
    const { deliveries }: { deliveries: Row[] } = await answer.json();
    return new Map(deliveries.map((row) => [row.delivery_id, row]));
  }

  async #post(path: string, body: unknown): Promise<Record<string, unknown>> {
    const init = { method: "POST", body: JSON.stringify(body) };
    return await (await fetch(`${this.#daemon.base}${path}`, init)).json();
  }
}

// deno-fmt-ignore
const VERBS = [
  { name: "open a pane",   weight: 8,  run: (storm: PaneStorm) => storm.open() },
  { name: "register",      weight: 10, run: (storm: PaneStorm) => storm.register() },
  { name: "notify",          weight: 16, run: (storm: PaneStorm) => storm.notify() },
  { name: "swap",          weight: 2,  run: (storm: PaneStorm) => storm.swap() },
  { name: "close a pane",  weight: 2,  run: (storm: PaneStorm) => storm.closePane() },
  { name: "end a process", weight: 2,  run: (storm: PaneStorm) => storm.endProcess() },
  { name: "kill tmux",     weight: 1,  run: (storm: PaneStorm) => storm.killServer() },
  { name: "kill daemon",   weight: 1,  run: (storm: PaneStorm) => storm.killDaemon() },
  { name: "remove a peer", weight: 1,  run: (storm: PaneStorm) => storm.remove() },
  { name: "wait",          weight: 10, run: (storm: PaneStorm) => storm.wait() },
] as const;
