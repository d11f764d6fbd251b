/**
 * Takes a wake from phase to phase: checks the session, opens its pane, and ends the agent again.
 * Each phase is stored before it is done, so that the next start of the daemon goes on with it.
 */

import type { Refusal } from "kit/core/problem.ts";
import { Ages } from "kit/core/clock.ts";
import { detached } from "kit/data/request_writes.ts";
import type { Context } from "../../data/context.ts";
import { isProblem, Problem, recoverableProblem } from "protocol/problems.ts";
import { MINUTE_MS } from "kit/core/duration.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { Terminals } from "../../host/tmux/terminals.ts";
import type { Linking } from "../lifecycle/linking.ts";
import { isOnline, mustGetPeer } from "../peers/directory.ts";
import { recordedProcess } from "../peers/identity/known_peer.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { LaunchedAgent } from "../spawn/deps.ts";
import type { Resumptions } from "../spawn/resumptions.ts";
import type { Spawns } from "../spawn/spawns.ts";
import * as spawnRows from "../spawn/store.ts";
import type { Spawn } from "../spawn/store.ts";
import type { WakeRecords } from "./records.ts";
import type { StoredWake } from "./store.ts";

/** Time for which a session that another program has open is tried again: the program may end. */
export const RUNNING_MS_MAX = 30_000;
/** Time after a start of the daemon within which tmux may still run a command of the last run. */
const TMUX_MS_MAX = 3_000;
/** Time within which a started agent has to register. It takes seconds, on slow machines more. */
const REGISTER_MS_MAX = 3 * MINUTE_MS;

interface WakeRunsDeps {
  readonly linking: Pick<Linking, "linkSilent">;
  readonly resumptions: Resumptions;
  readonly spawns: Spawns;
  readonly terminals: Pick<Terminals, "isWatched">;
  readonly shutdownSignal: AbortSignal;
  /** Asks the human, or allows the wake, in the transaction that ends the check. */
  decide(wake: StoredWake): void;
  /** The start of the agent has failed, in the transaction that stores it. */
  failed(wake: StoredWake): void;
  /** The agent has registered, in the transaction that stores it. */
  woken(wake: StoredWake): void;
  /** The agent has gone back to sleep, in the transaction that stores it. */
  slept(wake: StoredWake): void;
  /** True if no ask waits for the wake any more, or the peer came back by itself. */
  isOver(wake: StoredWake): boolean;
}

export class WakeRuns {
  readonly #ctx: Context;
  readonly #deps: WakeRunsDeps;
  readonly #records: WakeRecords;
  readonly #ages: Ages;
  readonly #running = new Map<string, Promise<Refusal | undefined>>();
  /** The wakes whose pane an earlier run of the daemon may have opened. */
  readonly #recovered = new Set<string>();
  readonly #started_at: number;

  constructor(ctx: Context, records: WakeRecords, deps: WakeRunsDeps) {
    this.#ctx = ctx;
    this.#records = records;
    this.#deps = deps;
    this.#ages = new Ages(ctx.clock);
    this.#started_at = ctx.clock.monotonic();
  }

  /** Called after a start. Takes up the wakes that the last run has left. */
  start(): void {
    for (const { wake_id } of this.#records.open()) this.#recovered.add(wake_id);
  }

  isRunning(wake_id: string): boolean {
    return this.#running.has(wake_id);
  }

  /** Goes on with a wake as far as it can now. Returns the refusal that holds it up or ends it. */
  advance(wake_id: string): Promise<Refusal | undefined> {
    const running = this.#running.get(wake_id);
    if (running) return running;
    const work = detached(() => this.#advance(wake_id)).finally(() =>
      this.#running.delete(wake_id)
    );
    this.#running.set(wake_id, work);
    void this.#ctx.background.run("A wake could not go on", work);
    return work;
  }

  /** Waits for the runs. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  async #advance(wake_id: string): Promise<Refusal | undefined> {
    for (;;) {
      if (this.#deps.shutdownSignal.aborted) return undefined;
      const wake = this.#records.mustGet(wake_id);
      const refusal = await this.#doPhase(wake);
      const { state } = this.#records.mustGet(wake_id);
      if (refusal || state === wake.state) return refusal;
    }
  }

  async #doPhase(wake: StoredWake): Promise<Refusal | undefined> {
    switch (wake.state) {
      case "checking":
        return await this.#tryPhase(wake, () => this.#check(wake));
      case "starting":
        return await this.#tryPhase(wake, () => this.#launch(wake));
      case "launched":
        return await this.#follow(wake);
      case "resting":
        return await this.#rest(wake);
      default:
        return undefined;
    }
  }

  /**
   * Does the work of a phase. A refusal ends the wake; but a session that another program has open
   * is tried again for a while, because that program may be ending.
   */
  async #tryPhase(wake: StoredWake, work: () => Promise<void>): Promise<Refusal | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const { wake_id, state, changed_at } = this.#records.mustGet(wake.wake_id);
      if (state !== wake.state) return refusal;
      const isRunning = isProblem(refusal, "session_running");
      if (isRunning && this.#ages.of(wake_id, changed_at) < RUNNING_MS_MAX) return refusal;
      const { peer_id } = wake;
      await this.#deps.spawns.cleanUp(wake_id, peer_id);
      this.#fail(wake, { reason: refusal.code, detail: refusal.toBody().detail });
      return refusal;
    }
  }

  #fail(
    { wake_id, state }: Pick<StoredWake, "wake_id" | "state">,
    why: { readonly reason: string; readonly detail: string },
  ): void {
    this.#ctx.db.transact(() => {
      if (this.#records.mustGet(wake_id).state !== state) return;
      const failed = this.#records.step(wake_id, "failed", why);
      // The answer to the ask itself says that its recipient cannot be woken.
      if (state !== "checking") this.#deps.failed(failed);
    });
  }

  async #check({ wake_id, backend, session_id }: StoredWake): Promise<void> {
    await this.#deps.resumptions.check({ backend, session_id });
    this.#ctx.db.transact(() => {
      const wake = this.#records.mustGet(wake_id);
      if (wake.state === "checking") this.#deps.decide(wake);
    });
  }

  /** Opens the pane, or takes the one that an earlier run has opened. */
  async #launch(wake: StoredWake): Promise<void> {
    const { wake_id, peer_id, backend, session_id, changed_at: at } = wake;
    const { resumptions } = this.#deps;
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    const tmux_socket = socketOf(peer);
    await this.#ctx.db.whenDurable();
    if (this.#recovered.has(wake_id)) {
      const launched = await resumptions.findLaunched(
        { backend, session_id },
        { tmux_socket, mark: wake_id, at },
      );
      if (launched) {
        const store = () => this.#storeLaunch(wake, launched);
        return await this.#deps.spawns.storeOrUndo(launched, store);
      }
      if (this.#ctx.clock.monotonic() - this.#started_at < TMUX_MS_MAX) return;
      this.#recovered.delete(wake_id);
    }
    if (this.#deps.isOver(wake)) return void this.#records.step(wake_id, "over");
    const earlier = spawnRows.ofPeer(this.#ctx.db, peer_id);
    const profile = earlier?.backend === backend ? earlier.profile ?? undefined : undefined;
    await resumptions.resume(
      { backend, session_id, ...(profile && { profile }) },
      { tmux_socket, mark: wake_id, refusalOf: () => undefined },
      (launched) => this.#storeLaunch(wake, launched),
    );
  }

  /** Throws if the peer came back by itself meanwhile. The caller then closes the pane. */
  #storeLaunch({ wake_id, peer_id, session_id }: StoredWake, launched: LaunchedAgent): void {
    this.#ctx.db.transact(() => {
      const { name, status, pane_id } = mustGetPeer(this.#ctx.db, peer_id);
      if (isOnline({ status }) && pane_id !== launched.pane.pane_id) {
        const holder = `${name} (${peer_id}) has it`;
        throw new Problem("session_running", { session_id, holder, peer_id });
      }
      const { spawn_id } = this.#deps.spawns.record(launched, { proven_human: false });
      this.#records.step(wake_id, "launched", { spawn_id });
    });
  }

  /** Follows a started agent until it registers, its pane closes, or its time is over. */
  async #follow(wake: StoredWake): Promise<Refusal | undefined> {
    const { wake_id, peer_id, spawn_id } = wake;
    const spawn = spawn_id === null ? undefined : spawnRows.get(this.#ctx.db, spawn_id);
    if (!spawn) this.#fail(wake, { reason: "exited", detail: "Its spawn is not known any more" });
    else if (spawn.peer_id === peer_id) {
      this.#ctx.db.transact(() => this.#deps.woken(this.#records.step(wake_id, "registered")));
    } else if (spawn.peer_id !== null) {
      this.#fail(wake, { reason: "other_peer", detail: `It registered as ${spawn.peer_id}` });
      const process = recordedProcess(mustGetPeer(this.#ctx.db, spawn.peer_id)) ?? undefined;
      await this.#deps.spawns.release(spawn.spawn_id, process);
    } else if (this.#isLate(wake)) await this.#giveUp(wake, spawn);
    else if (spawn.settled_at !== null) {
      const { pane_id } = spawn;
      this.#fail(wake, { reason: "exited", detail: `Its program ended at once in ${pane_id}` });
    } else if (this.#recovered.has(wake_id)) {
      // Its hooks may have reported the start while no daemon ran.
      await this.#deps.linking.linkSilent(spawn, peer_id, { missed_start: true });
    }
    return undefined;
  }

  /**
   * Fails a wake whose agent has not registered in time. Its program is ended first, so that none
   * has the session open at the next wake. While it may run, the wake stays as it is; so it does
   * while a person looks at the pane, perhaps to answer the agent's first dialog.
   */
  async #giveUp(wake: StoredWake, { spawn_id, tmux_socket, pane_id }: Spawn): Promise<void> {
    const { spawns, terminals } = this.#deps;
    if (await terminals.isWatched(tmux_socket, pane_id)) return;
    const end = await this.#unlessClosing(spawns.endSilent(spawn_id));
    const { peer_id } = spawnRows.get(this.#ctx.db, spawn_id) ?? { peer_id: null };
    if (end === "running" || end === undefined || peer_id !== null) return;
    const outcome = end === "ended" ? "and mesh has ended it" : "and has ended";
    const program = `Its program in ${pane_id} had not registered`;
    const detail = `${program} after ${REGISTER_MS_MAX / MINUTE_MS} minutes, ${outcome}`;
    this.#fail(wake, { reason: "not_registered", detail });
  }

  /** True if a started agent has had its time. The hooks of an earlier run's found no daemon. */
  #isLate({ wake_id, changed_at }: StoredWake): boolean {
    const run_ms = this.#ctx.clock.monotonic() - this.#started_at;
    return this.#ages.of(wake_id, changed_at) >= REGISTER_MS_MAX &&
      (run_ms >= REGISTER_MS_MAX || !this.#recovered.has(wake_id));
  }

  /** Undefined if the daemon ends meanwhile: its next start goes on with the wake. */
  async #unlessClosing<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (this.#deps.shutdownSignal.aborted) return undefined;
      throw error;
    }
  }

  /** Ends a woken agent that is idle. Its peer is offline already, so that messages wait. */
  async #rest({ wake_id, peer_id, spawn_id }: StoredWake): Promise<undefined> {
    await this.#ctx.db.whenDurable();
    const peer = mustGetPeer(this.#ctx.db, peer_id);
    if (isOnline(peer)) {
      this.#records.step(wake_id, "registered");
      return undefined;
    }
    const { spawns, shutdownSignal } = this.#deps;
    await this.#unlessClosing(spawns.release(spawn_id ?? "", recordedProcess(peer) ?? undefined));
    if (shutdownSignal.aborted) return undefined;
    this.#ctx.db.transact(() => {
      if (this.#records.mustGet(wake_id).state !== "resting") return;
      this.#deps.slept(this.#records.step(wake_id, "slept"));
    });
    return undefined;
  }
}

/** The tmux server in which the peer ran; undefined for the usual one. */
function socketOf({ tmux_socket }: StoredPeer): string | undefined {
  return tmux_socket !== null && kindOf(tmux_socket) === "tmux" ? tmux_socket : undefined;
}
