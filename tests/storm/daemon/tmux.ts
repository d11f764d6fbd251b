/** A fake tmux for storms: one server with panes and processes, which may die and start again. */

import type { Launch, OpenResult, Terminals } from "../../../daemon/host/tmux/terminals.ts";
import type {
  PaneFacts,
  PaneObserver,
  ScreenObservation,
} from "../../../daemon/host/tmux/pane_observer.ts";
import type { Pane } from "../../../daemon/host/tmux/pane.ts";
import { paneRecord } from "../../support/host/fake_panes.ts";
import type { FakeProcesses } from "../../support/world.ts";
import type { Chance } from "../../support/seeded_random.ts";

export const SOCKET = "/missing/tmux-1/default";
/** Few, so that pids are reused. */
const PIDS = [201, 202, 203, 204, 205, 206];

interface StormPane extends Pane {
  /** True if the pane stays when its program ends. */
  readonly remains: boolean;
  /** Identifies the pane of a spawned agent. */
  readonly mark?: string | undefined;
}

export class StormTmux implements PaneObserver {
  readonly panes = new Map<string, StormPane>();
  readonly #processes: FakeProcesses;
  readonly #chance: Chance;
  #opened = 0;

  constructor(processes: FakeProcesses, chance: Chance) {
    this.#processes = processes;
    processes.endOnSignal = (pid) => this.end(pid);
    this.#chance = chance;
  }

  /** A user opens a pane that runs an agent; undefined when all pids are in use. */
  open(session = "work", mark?: string): StormPane | undefined {
    const pane_pid = this.#start();
    if (pane_pid === undefined) return undefined;
    const pane_id = `%${++this.#opened}`;
    const location = { pane_id, pane_pid, session, window: `@${this.#opened}`, command: "agent" };
    const pane = { ...paneRecord(location), remains: false, mark };
    this.panes.set(pane_id, pane);
    return pane;
  }

  /** Closes a pane and ends its program. */
  close(pane_id: string): void {
    const pane = this.panes.get(pane_id);
    this.panes.delete(pane_id);
    if (pane) this.#processes.end(pane.pane_pid);
  }

  /** Replaces the program of a pane. */
  swap(pane_id: string): StormPane | undefined {
    const pane = this.panes.get(pane_id);
    if (!pane) return undefined;
    this.#processes.end(pane.pane_pid);
    const pane_pid = this.#start() ?? pane.pane_pid;
    const other = { ...pane, pane_pid, dead: !this.#processes.isAlive(pane_pid) };
    this.panes.set(pane_id, other);
    return other;
  }

  /** Ends the server and most of its programs; the next server counts its panes from 1. */
  killServer(): void {
    for (const [pane_id, { pane_pid }] of this.panes) {
      this.panes.delete(pane_id);
      if (!this.#chance.oneIn(4)) this.#processes.end(pane_pid);
    }
    this.#opened = 0;
  }

  /** Ends a process; its pane closes, or stays as a dead one. */
  end(pid: number): void {
    this.#processes.end(pid);
    for (const [pane_id, pane] of this.panes) {
      if (pane.pane_pid !== pid) continue;
      if (pane.remains) this.panes.set(pane_id, { ...pane, dead: true });
      else this.panes.delete(pane_id);
    }
  }

  /** True if exactly this process reads the pane's input. */
  reads(pane_id: string, pid: number | null, started: string | null): boolean {
    const pane = this.panes.get(pane_id);
    if (!pane || pane.dead || pid === null || started === null) return false;
    return pane.pane_pid === pid && this.#processes.isAlive(pid, started);
  }

  everywhere(): Promise<PaneFacts[]> {
    return this.all();
  }

  all(): Promise<PaneFacts[]> {
    return Promise.resolve([...this.panes.values()].map((pane) => this.#facts(pane)));
  }

  at(tmux_socket: string | null, pane_id: string) {
    const found = tmux_socket === null || tmux_socket === SOCKET;
    const pane = found ? this.panes.get(pane_id) : undefined;
    return Promise.resolve(
      pane ? { state: "found", pane: this.#facts(pane) } as const : { state: "missing" } as const,
    );
  }

  async stateOf(tmux_socket: string | null, pane_id: string) {
    return (await this.at(tmux_socket, pane_id)).state;
  }

  /** No test of the storm looks at a screen. */
  screen(): Promise<ScreenObservation> {
    return Promise.resolve({ state: "unknown" });
  }

  holds({ pane_id }: PaneFacts, pid: number): boolean {
    return this.panes.get(pane_id)?.pane_pid === pid;
  }

  keep(pane_id: string, remains: boolean): void {
    const pane = this.panes.get(pane_id);
    if (pane) this.panes.set(pane_id, { ...pane, remains });
  }

  #facts(pane: StormPane): PaneFacts {
    const { pane_pid: pid, dead } = pane;
    const started = this.#processes.startTimeOf(pid);
    const foreground = dead || started === undefined ? null : { pid, started, args: ["agent"] };
    return { ...pane, tmux_socket: SOCKET, foreground };
  }

  /** The lowest free pid, as a kernel assigns it after a wrap. */
  #start(): number | undefined {
    const pid = PIDS.find((pid) => !this.#processes.isAlive(pid));
    if (pid !== undefined) this.#processes.start(pid);
    return pid;
  }
}

/** The same tmux, as one run of the daemon reaches it: its end makes every call a no-op. */
export class StormTerminals implements Terminals {
  readonly home = "/none";
  readonly socket = SOCKET;
  readonly #tmux: StormTmux;
  #ended = false;

  constructor(tmux: StormTmux) {
    this.#tmux = tmux;
  }

  end(): void {
    this.#ended = true;
  }

  isAvailable(): Promise<boolean> {
    return Promise.resolve(true);
  }

  openWindow(_socket: string, session: string, { mark }: Launch): Promise<OpenResult> {
    return this.#opened(() => this.#tmux.open(session, mark));
  }

  splitWindow(_socket: string, pane_id: string, { mark }: Launch): Promise<OpenResult> {
    const neighbour = this.#tmux.panes.get(pane_id);
    return this.#opened(() => neighbour && this.#tmux.open(neighbour.session, mark));
  }

  isWatched(): Promise<boolean> {
    return Promise.resolve(false);
  }

  getPane(_socket: string, pane_id: string): Promise<Pane | undefined> {
    return Promise.resolve(this.#tmux.panes.get(pane_id));
  }

  find(_socket: string, mark: string): Promise<Pane | undefined> {
    return Promise.resolve([...this.#tmux.panes.values()].find((pane) => pane.mark === mark));
  }

  addedWords(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  isGone(_socket: string, pane_id: string): Promise<boolean> {
    return Promise.resolve(this.#tmux.panes.get(pane_id)?.dead ?? true);
  }

  close(_socket: string, pane_id: string): Promise<void> {
    if (!this.#ended) this.#tmux.close(pane_id);
    return Promise.resolve();
  }

  closeIfSame(
    _socket: string,
    { pane_id, pane_pid }: Pick<Pane, "pane_id" | "pane_pid">,
  ): Promise<boolean> {
    const same = !this.#ended && this.#tmux.panes.get(pane_id)?.pane_pid === pane_pid;
    if (same) this.#tmux.close(pane_id);
    return Promise.resolve(same);
  }

  keep(_socket: string, pane_id: string, remains: boolean): Promise<void> {
    if (!this.#ended) this.#tmux.keep(pane_id, remains);
    return Promise.resolve();
  }

  respawn(_socket: string, { pane_id, pane_pid }: Pane, _launch: Launch): Promise<OpenResult> {
    const same = this.#tmux.panes.get(pane_id)?.pane_pid === pane_pid;
    return this.#opened(() => same ? this.#tmux.swap(pane_id) : undefined);
  }

  hasProgram(): Promise<boolean> {
    return Promise.resolve(true);
  }

  isSameJob(pid: number, job_pid: number): boolean {
    return this.isWithin(pid, job_pid);
  }

  isWithin(pid: number, pane_pid: number): boolean {
    return pid === pane_pid;
  }

  isShared(): Promise<boolean> {
    return Promise.resolve(false);
  }

  #opened(work: () => Pane | undefined): Promise<OpenResult> {
    const pane = this.#ended ? undefined : work();
    return Promise.resolve(pane ? { ok: true, pane } : { ok: false, reason: "no pane" });
  }
}
