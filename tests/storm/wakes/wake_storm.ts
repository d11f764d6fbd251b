/**
 * A storm on agents that sleep: they are asked, woken and put to sleep, they die, people use them,
 * and the daemon is killed at any moment. Never do two programs run one session, no message is
 * typed twice, and none is lost.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import * as z from "zod";
import { SOCKET } from "../../support/daemon/spawns.ts";
import { FakeSockets, type World, world, type WorldOptions } from "../../support/world.ts";
import { KilledWorld, type KillVerb } from "../killed_world.ts";
import type { Simulation, SimulationOptions } from "../simulation.ts";
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

export type WakeVerb = KillVerb<WakeStorm>;

const OpenAsk = z.object({
  correlation_id: z.string(),
  to_peer_id: z.string(),
  state: z.string(),
});

export class WakeStorm extends KilledWorld implements Simulation {
  readonly machine: WakeMachine;
  /** The ids of the asks that were accepted. */
  readonly accepted = new Set<string>();
  readonly #verbs: readonly WakeVerb[];
  /** Requests come from a program of the user, but for those of agents. */
  readonly #sockets = Object.assign(new FakeSockets(), { holders: [] as readonly number[] });
  readonly #policy: string;
  #end: () => void = () => undefined;

  constructor({ verbs, ...options }: SimulationOptions & { readonly verbs: readonly WakeVerb[] }) {
    super(options, "mesh-wakes-");
    this.#verbs = verbs;
    this.#policy = this.chance.pick(POLICIES);
    const folder = join(this.root, "project");
    Deno.mkdirSync(folder);
    this.machine = new WakeMachine(folder);
    this.start();
  }

  protected openWorld(shared: WorldOptions): World {
    const { machine } = this;
    const { terminals, end } = terminalsOfRun(machine);
    let hasEnded = false;
    this.#end = () => {
      end();
      hasEnded = true;
    };
    return world({
      ...shared,
      adapters: [machine.adapter(() => hasEnded)],
      hooks: HOOKS,
      terminals,
      processes: machine.processes,
      sessionFiles: machine.sessionFiles(),
      sockets: this.#sockets,
      settings: {
        ...SETTINGS,
        "daemon.wake": this.#policy,
        "spawn.allowed_paths": JSON.stringify([machine.folder]),
      },
    });
  }

  protected endRun(): void {
    this.#end();
  }

  step(number: number): Promise<void> {
    return this.take(number, this, this.#verbs, {
      "one program for each session": () => this.machine.checkOneWriter(),
      "nothing is typed twice": () => {
        for (const [id, times] of this.machine.typed) assert.equal(times, 1, id);
      },
      "no accepted ask is lost": () => this.#checkKept(),
    });
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

  #checkKept(): void {
    const { db } = this.w.daemon.ctx;
    const known = new Set(
      db.values(z.string(), "select correlation_id from messages where kind = 'ask'"),
    );
    for (const id of this.accepted) assert.ok(known.has(id), `${id} is lost`);
  }
}
