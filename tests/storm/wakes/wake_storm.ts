/**
 * A storm on agents that sleep: they are asked, woken and put to sleep, they die, people use them,
 * and the daemon is killed at any moment. Never do two programs run one session, no message is
 * typed twice, and none is lost.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import { countingIds } from "../../support/ids.ts";
import { SwiftClock, TURNS } from "../../support/swift_clock.ts";
import { makeMemoryDir, migratedImage } from "../../support/migrated.ts";
import { Chance } from "../../support/seeded_random.ts";
import { SOCKET } from "../../support/daemon/spawns.ts";
import { FakeSockets, type World, world } from "../../support/world.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";
import { DatabaseFiles, type DatabaseImage } from "../database_files.ts";
import {
  seedOfStep,
  type Simulation,
  type SimulationOptions,
  StepError,
  VERB,
} from "../simulation.ts";
import { type AgentName, AGENTS, HOOKS, terminalsOfRun, WakeMachine } from "./machine.ts";

const SETTINGS = {
  "human.name": "sam",
  "daemon.wake_idle_minutes": "5",
  "daemon.limits.pair_per_minute": "0",
  "spawn.commands": JSON.stringify({ codex: ["codex"] }),
};
const POLICIES = ["ask", "always", "always"] as const;
/** Maximum ticks until everything that waits has been woken and has read its messages. */
const FINAL_TICKS_MAX = 200;

export interface WakeVerb {
  readonly name: string;
  readonly weight: number;
  readonly run: (storm: WakeStorm) => Promise<unknown>;
}

const OpenAsk = z.object({
  correlation_id: z.string(),
  to_peer_id: z.string(),
  state: z.string(),
});

export class WakeStorm implements Simulation {
  readonly chance: Chance;
  readonly machine: WakeMachine;
  w!: World;
  /** The ids of the asks that were accepted. */
  readonly accepted = new Set<string>();
  readonly #options: SimulationOptions & { readonly verbs: readonly WakeVerb[] };
  readonly #uncaught = new UncaughtErrors();
  readonly #clock = new SwiftClock();
  /** Requests come from a program of the user, but for those of agents. */
  readonly #sockets = Object.assign(new FakeSockets(), { holders: [] as readonly number[] });
  readonly #ids = countingIds();
  readonly #root = makeMemoryDir("mesh-wakes-");
  readonly #policy: string;
  readonly #verbNames: string[] = [];
  #run = 0;
  #end: () => void = () => undefined;

  constructor(options: SimulationOptions & { readonly verbs: readonly WakeVerb[] }) {
    this.#options = options;
    this.chance = new Chance(options.seed);
    this.#policy = this.chance.pick(POLICIES);
    const folder = join(this.#root, "project");
    Deno.mkdirSync(folder);
    this.machine = new WakeMachine(Deno.realPathSync(folder));
    this.#files.write({ main: migratedImage() });
    this.#start();
  }

  get #files(): DatabaseFiles {
    return new DatabaseFiles(join(this.#root, `mesh-${this.#run}.db`));
  }

  #start(): void {
    const { machine } = this;
    const { terminals, end } = terminalsOfRun(machine);
    let hasEnded = false;
    this.#end = () => {
      end();
      hasEnded = true;
    };
    this.w = world({
      adapters: [machine.adapter(() => hasEnded)],
      hooks: HOOKS,
      terminals,
      processes: machine.processes,
      sessionFiles: machine.sessionFiles(),
      sockets: this.#sockets,
      clock: this.#clock,
      ids: this.#ids,
      db_path: this.#files.path,
      settings: {
        ...SETTINGS,
        "daemon.wake": this.#policy,
        "spawn.allowed_paths": JSON.stringify([machine.folder]),
      },
    });
  }

  async step(number: number): Promise<void> {
    const { seed, verbs, trace } = this.#options;
    this.chance.restart(seedOfStep(seed, number));
    const verb = this.chance.weighted(verbs);
    this.#verbNames.push(`${number}. ${verb.name}`);
    trace?.(`${number}. ${verb.name}`);
    let invariant = VERB;
    try {
      await verb.run(this);
      await this.settle();
      invariant = "one program for each session";
      this.machine.checkOneWriter();
      invariant = "nothing is typed twice";
      for (const [id, times] of this.machine.typed) assert.equal(times, 1, id);
      invariant = "no accepted ask is lost";
      this.#checkKept();
      invariant = "nothing is logged";
      assert.deepEqual(this.w.logged.splice(0), []);
    } catch (error) {
      throw new StepError({ number, invariant, verbNames: this.#verbNames }, error);
    }
  }

  /** In the end, a person wakes what sleeps, and every open ask is read. */
  async finish(): Promise<void> {
    const unread = () => this.openAsks().filter(({ state }) => state === "queued");
    for (let ticks = 0; ticks < FINAL_TICKS_MAX && unread().length > 0; ticks++) {
      if (ticks % 10 === 0) await this.#wakeAll();
      await this.tick();
      await this.registerStarted(() => true);
    }
    assert.deepEqual(unread(), [], "asks that were never read");
    this.machine.checkOneWriter();
    for (const [id, times] of this.machine.typed) assert.equal(times, 1, id);
  }

  async #wakeAll(): Promise<void> {
    for (const name of AGENTS) await this.post(`/peers/${name}/wake`);
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await this.#clock.settle();
  }

  async tick(seconds = 1): Promise<void> {
    await this.#clock.advance(seconds * 1000);
    this.w.daemon.tick();
    // Folders are checked for real.
    await Deno.realPath(this.machine.folder);
    await this.settle();
  }

  async post(path: string, body: unknown = {}): Promise<Record<string, unknown>> {
    const run = this.#run;
    const response = await this.w.post(path, body);
    const answer = await response.json();
    if (run !== this.#run) throw new Error("The daemon that answered was killed");
    assert.ok(response.status !== 500, `${path} answers ${JSON.stringify(answer)}`);
    return answer;
  }

  async get(path: string): Promise<Record<string, unknown>> {
    return await (await this.w.fetch(path)).json();
  }

  /** The open asks to the agents, with the states of their deliveries. */
  openAsks(): z.output<typeof OpenAsk>[] {
    return this.w.daemon.ctx.db.all(
      OpenAsk,
      `select correlation_id, to_peer_id, state from messages where kind = 'ask'
         and ask_state = 'open' and to_peer_id in (select peer_id from peers where role = 'agent')`,
    );
  }

  /** Agents that were started report it, as their hooks do. */
  async registerStarted(does: () => boolean): Promise<void> {
    const { terminals, processes, folder } = this.machine;
    for (const name of AGENTS) {
      const [pid] = this.machine.runningOf(name);
      const pane = pid === undefined ? undefined : this.machine.paneOf(pid);
      if (pid === undefined || !pane || !processes.isAlive(pid) || !does()) continue;
      if (!terminals.panes.has(pane.pane_id)) continue;
      await this.#register(name, { pid, pane_id: pane.pane_id, folder });
    }
  }

  /** A person starts an agent, if its session does not run. */
  async startByPerson(name: AgentName): Promise<void> {
    if (this.machine.runningOf(name).length > 0) return;
    const pane = this.machine.terminals.userPane();
    this.machine.opened(name, pane);
    const place = { pid: pane.pane_pid, pane_id: pane.pane_id, folder: this.machine.folder };
    await this.#register(name, place);
  }

  async #register(
    name: AgentName,
    { pid, pane_id, folder }: { pid: number; pane_id: string; folder: string },
  ): Promise<void> {
    const session = { runtime_session_id: name, agent_pid: pid, turn_state: "idle" };
    const place = { path: folder, backend: "codex", pane_id, tmux_socket: SOCKET };
    this.#sockets.holders = [pid];
    const registered = this.post("/peers", { name, circle: "default", ...place, ...session });
    await registered.finally(() => this.#sockets.holders = []);
  }

  /** Kills the daemon a few turns after some work has begun. What it had stored stays. */
  async killDuring(work: () => Promise<unknown>): Promise<void> {
    const ignored = () => undefined;
    work().then(ignored, ignored);
    const turns = this.chance.below(3 * TURNS);
    for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
    await this.restart(this.#files.read());
  }

  /** The daemon ends at once, and the next one finds this on the disk. */
  async restart(image: DatabaseImage = this.#files.read()): Promise<void> {
    const old = this.w;
    this.#end();
    this.#run++;
    this.#files.write(image);
    this.#start();
    await old[Symbol.asyncDispose]();
  }

  #checkKept(): void {
    const { db } = this.w.daemon.ctx;
    const known = new Set(
      db.values(z.string(), "select correlation_id from messages where kind = 'ask'"),
    );
    for (const id of this.accepted) assert.ok(known.has(id), `${id} is lost`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#uncaught[Symbol.dispose]();
    this.#end();
    await this.w[Symbol.asyncDispose]();
    Deno.removeSync(this.#root, { recursive: true });
  }
}
