/** A soak: 50 peers at a steady rate, first with restarts of the daemon, then measured. */

import { Chance } from "../support/seeded_random.ts";
import { temporary } from "../support/programs/child.ts";
import { pause } from "../support/programs/process_facts.ts";
import { Ledger } from "./ledger.ts";
import { Load, readInbox } from "./load.ts";
import { PanePeers } from "./peers/pane_peers.ts";
import { PollingPeer } from "./peers/polling_peer.ts";
import type { SoakPeer } from "./peers/soak_peer.ts";
import { SocketPeer } from "./peers/socket_peer.ts";
import { type Sample, takeSample } from "./samples.ts";
import { SoakDaemon } from "./soak_daemon.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Verbs in a second. */
  readonly rate: number;
  readonly onSample?: (sample: Sample) => void;
}

const SOCKET_PEERS = 26, POLLING_PEERS = 14, PANE_PEERS = 10;
/** Every second socket peer sends receipts. */
const RECEIPTS_EVERY = 2;
/** The parts of the time: restarts, then the warm-up of the run that is measured. */
const RESTARTS_PART = 0.3, WARM_UP_PART = 0.15;
const RESTARTS_MAX = 12;
const SAMPLES_MAX = 60;
const SAMPLE_MS_MIN = 2500;
const UNDER_WAY_MAX = 24;
const POLL_MS = 400;
const CHECK_MS = 4000;
const DAY_MS = 24 * 60 * 60_000;
/** After two days every event may go, 500 in each second. */
const LATER_WAIT_MS = 12_000;
const LATER_STEPS = 400;
const END_MS_MAX = 30_000;

/** Messages that retention keeps. The ledger is checked long before a message is removed. */
const KEPT_MESSAGES = 2000;

export interface Outcome {
  readonly samples: readonly Sample[];
  /** Time over which the samples were taken. */
  readonly measured_ms: number;
  readonly restarts: number;
  readonly later: Later;
}

/** The size of the file before and after more messages, once old events are gone. */
interface Later {
  readonly bytes_before: number;
  readonly bytes_after: number;
}

export class Soak implements AsyncDisposable {
  readonly #options: SoakOptions;
  readonly #state = temporary();
  readonly #chance: Chance;
  readonly daemon: SoakDaemon;
  readonly ledger: Ledger;
  readonly panes: PanePeers;
  readonly load: Load;
  readonly #peers: readonly SoakPeer[];
  #under_way = 0;
  #is_over = false;
  readonly #loops: Promise<void>[] = [];
  readonly #settings: Record<string, string>;

  constructor(options: SoakOptions) {
    this.#options = options;
    const { path } = this.#state;
    const chance = this.#chance = new Chance(options.seed);
    this.#settings = {
      ...PanePeers.settings(path),
      MESH_HUMAN__NAME: "sam",
      MESH_DAEMON__HISTORY_DAYS: "1",
      MESH_DAEMON__HISTORY_MESSAGES: String(KEPT_MESSAGES),
    };
    const daemon = this.daemon = new SoakDaemon(path, this.#settings);
    this.ledger = new Ledger(`${path}/mesh.db`);
    this.panes = new PanePeers(daemon, path, chance, PANE_PEERS);
    this.#peers = [
      ...Array.from({ length: SOCKET_PEERS }, (_, number) => {
        return new SocketPeer(`socket-${number}`, number % RECEIPTS_EVERY === 0, daemon, chance);
      }),
      ...Array.from(
        { length: POLLING_PEERS },
        (_, n) => new PollingPeer(`poll-${n}`, daemon, chance),
      ),
    ];
    const { ledger, panes } = this;
    this.load = new Load({ daemon, chance, ledger, peers: this.#peers, panes });
  }

  async run(): Promise<Outcome> {
    const total_ms = this.#options.minutes * 60_000;
    await this.#start();
    this.#loops.push(
      this.#every(1000 / this.#options.rate, () => this.#step()),
      this.#every(POLL_MS, () => this.#poll()),
      this.#every(CHECK_MS, () => this.#check()),
      this.#every(CHECK_MS, () => this.panes.fill()),
    );
    const restarts = await this.#restartAtRandom(total_ms * RESTARTS_PART);
    await pause(total_ms * WARM_UP_PART);
    const measured_ms = total_ms * (1 - RESTARTS_PART - WARM_UP_PART);
    const samples = await this.#measure(measured_ms);
    this.#is_over = true;
    await Promise.all(this.#loops);
    await this.#settle();
    return { samples, measured_ms, restarts, later: await this.#twoDaysLater() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#is_over = true;
    await Promise.allSettled(this.#loops);
    await Promise.allSettled(this.#peers.map((peer) => peer.disconnect()));
    await this.daemon[Symbol.asyncDispose]();
    this.panes.endServer();
    this.#state[Symbol.dispose]();
  }

  async #start(more: Record<string, string> = {}): Promise<void> {
    await this.daemon.start(more);
    const tries = await Promise.allSettled(this.#peers.map((peer) => peer.connect()));
    for (const attempt of tries) {
      if (attempt.status === "rejected") this.daemon.failures.push(attempt.reason);
    }
    await this.panes.fill();
  }

  async #every(ms: number, act: () => Promise<void> | void): Promise<void> {
    for (let due = performance.now(); !this.#is_over; due += ms) {
      await pause(Math.max(0, due - performance.now()));
      due = Math.max(due, performance.now() - 1000);
      await act();
    }
  }

  /** Begins a verb without waiting for its end; a slow daemon gets fewer of them. */
  #step(): void {
    if (!this.daemon.isRunning || this.#under_way >= UNDER_WAY_MAX) return;
    this.#under_way++;
    this.load.step()
      .catch((error) => this.daemon.failures.push(String(error)))
      .finally(() => this.#under_way--);
  }

  async #poll(): Promise<void> {
    for (const peer of this.#peers) if (peer instanceof PollingPeer) await peer.poll();
  }

  #check(): void {
    if (this.daemon.isRunning) this.ledger.check();
  }

  /** Stops or kills the daemon a few times; its peers come back. */
  async #restartAtRandom(ms: number): Promise<number> {
    const count = Math.max(2, Math.min(RESTARTS_MAX, Math.floor(ms / 20_000)));
    for (let restart = 0; restart < count; restart++) {
      await pause(ms / count * (0.5 + this.#chance.next() / 2));
      await this.daemon.end(this.#chance.oneIn(2) ? "kill" : "stop");
      await Promise.all(this.#peers.map((peer) => peer.disconnect()));
      await this.#start();
    }
    return count;
  }

  async #measure(ms: number): Promise<Sample[]> {
    const samples: Sample[] = [];
    const every_ms = Math.max(SAMPLE_MS_MIN, ms / SAMPLES_MAX);
    for (const end = performance.now() + ms; performance.now() < end;) {
      const { pid, port } = this.daemon;
      const panes = this.panes.panes;
      const sample = await takeSample({ state: this.#state.path, pid, port, panes });
      samples.push(sample);
      this.#options.onSample?.(sample);
      await pause(every_ms);
    }
    return samples;
  }

  /** Waits until every acknowledged message has ended. */
  async #settle(): Promise<void> {
    const deadline = performance.now() + END_MS_MAX;
    while (this.#under_way > 0 && performance.now() < deadline) await pause(POLL_MS);
    await this.panes.closeDead();
    do {
      await this.#poll();
      await readInbox(this.#inboxDeps());
      this.ledger.check();
      await pause(POLL_MS);
    } while (this.ledger.open > 0 && performance.now() < deadline);
  }

  /** Starts two days ahead: retention removes old events, and their pages are used again. */
  async #twoDaysLater(): Promise<Later> {
    await this.daemon.end("stop");
    await Promise.all(this.#peers.map((peer) => peer.disconnect()));
    await this.#start({ SOAK_AHEAD_MS: String(2 * DAY_MS) });
    await pause(LATER_WAIT_MS);
    const size = () => Deno.statSync(`${this.#state.path}/mesh.db`).size;
    const before = size();
    for (let step = 0; step < LATER_STEPS; step++) {
      this.#step();
      while (this.#under_way >= UNDER_WAY_MAX) await pause(1);
    }
    await this.#settle();
    return { bytes_before: before, bytes_after: size() };
  }

  #inboxDeps() {
    const { daemon, ledger, panes } = this;
    return { daemon, chance: this.#chance, ledger, peers: this.#peers, panes };
  }
}
