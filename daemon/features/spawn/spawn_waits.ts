/** Tells people what spawned agents wait for before they go on, and when that is over. */

import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Context } from "../../data/context.ts";
import type { ReportedWait, Wait } from "protocol/peers/record.ts";
import { spawnSentence } from "protocol/derived/waits.ts";
import { waitAtStart } from "../agents/screens.ts";
import { DAEMON } from "../notifications/notifications.ts";
import { nameOf } from "../peers/identity/naming.ts";
import * as peerRows from "../peers/store.ts";
import { BY_SCREEN } from "../peers/waits.ts";
import type { SpawnDeps } from "./deps.ts";
import type { Spawn } from "./store.ts";
import * as rows from "./store.ts";

export class SpawnWaits {
  readonly #ctx: Context;
  readonly #deps: SpawnDeps;
  /** The waits of agents that have not registered, by their spawns. */
  readonly #waits = new Map<string, Wait>();
  /** The spawns whose notices may be open. */
  readonly #open: RollbackMap<string, true>;

  constructor(ctx: Context, deps: SpawnDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#open = new RollbackMap(ctx.db);
  }

  /** Called after a start. Finds the notices of an earlier run that may be over. */
  start(): void {
    for (const text of this.#deps.inbox.unreadNotices(DAEMON.name)) {
      const spawn_id = MARK.exec(text)?.[1];
      if (spawn_id !== undefined) this.#open.set(spawn_id, true);
    }
  }

  /** The wait of an agent that has not registered; null for none. */
  of(spawn_id: string): Wait | null {
    return this.#waits.get(spawn_id) ?? null;
  }

  /**
   * Reads the screen of an agent that has not registered. A resumed session may show the words of
   * a dialog in its conversation.
   */
  async look(spawn: Spawn): Promise<void> {
    const { spawn_id, tmux_socket, pane_id, resumed_session } = spawn;
    const seen = await this.#deps.paneObserver.screen(tmux_socket, pane_id);
    if (seen.state !== "found" || resumed_session !== null) return;
    const current = rows.get(this.#ctx.db, spawn_id);
    if (current?.settled_at !== null) return;
    const wait = waitAtStart(seen.rows);
    if (wait) this.#begin(current, wait);
    else if (this.#waits.has(spawn_id)) this.end(spawn_id);
  }

  /** The agent of a spawn has not registered for long, though its hooks should register it. */
  late(spawn: Spawn): void {
    if (!this.#deps.hooks[spawn.backend] || this.#waits.has(spawn.spawn_id)) return;
    const { backend, path, pane_id } = spawn;
    const agent = `${nameShown(spawn)} (${backend} in ${path})`;
    const pane = `${pane_id} may show why: mesh attach ${pane_id}`;
    this.#notify(spawn, `${agent} has not registered since its start. Its pane ${pane}`);
  }

  #begin(spawn: Spawn, reported: ReportedWait): void {
    const { spawn_id } = spawn;
    const { kind } = reported, detail = reported.detail ?? null;
    const known = this.#waits.get(spawn_id);
    if (known?.kind === kind && known.detail === detail) return;
    const since = this.#ctx.clock.now();
    this.#waits.set(spawn_id, { kind, detail, since, source: BY_SCREEN, resets_at: null });
    this.#tell(spawn, { kind, detail }, { name: nameShown(spawn), attach: spawn.pane_id });
  }

  /** A spawned agent has registered: while it waits at a dialog, or because it goes on. */
  registered(spawn: Spawn, peer_id: string): void {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (peer?.turn_state !== "awaiting_input") return this.end(spawn.spawn_id);
    this.#waits.delete(spawn.spawn_id);
    const { kind, detail } = this.#deps.waits.of(peer) ?? { kind: "dialog", detail: null };
    this.#tell(spawn, { kind, detail }, { name: peer.name, attach: peer.name });
  }

  /** Tells the human and the sender of an agent what it waits for, once for each spawn. */
  #tell(
    spawn: Spawn,
    wait: Pick<Wait, "kind" | "detail">,
    agent: { readonly name: string; readonly attach: string },
  ): void {
    const { backend, path, pane_id } = spawn;
    this.#notify(spawn, spawnSentence({ ...agent, backend, path, pane_id, wait }));
  }

  #notify({ spawn_id, seed_from }: Spawn, sentence: string): void {
    const { directory, inbox, notifications } = this.#deps;
    const isTold = this.#open.has(spawn_id) || inbox.hasNotice(DAEMON.name, mark(spawn_id));
    this.#ctx.db.transact(() => {
      this.#open.set(spawn_id, true);
      if (isTold) return;
      const text = `The spawned agent ${sentence} ${mark(spawn_id)}`;
      const sender = seed_from === null ? null : directory.sender(seed_from).peer_id;
      for (const to of new Set([directory.human()?.peer_id, sender])) {
        if (to) notifications.tryNotifyFromDaemon(to, text, { notice: false });
      }
    });
  }

  /** The agent of a spawn goes on, or its pane has ended: its notice is over. */
  end(spawn_id: string): void {
    this.#waits.delete(spawn_id);
    this.#ctx.db.transact(() => {
      if (this.#open.delete(spawn_id)) this.#deps.inbox.endNotices(DAEMON.name, mark(spawn_id));
    });
  }

  /** Called once a second. Ends the notices of registered agents that wait no longer. */
  tick(): void {
    const { db } = this.#ctx;
    for (const spawn_id of [...this.#open.keys()]) {
      const spawn = rows.get(db, spawn_id);
      if (spawn?.settled_at === null) continue;
      const peer = spawn?.peer_id && peerRows.get(db, spawn.peer_id);
      if (!peer || this.#deps.waits.of(peer) === null) this.end(spawn_id);
    }
  }
}

const MARK = /\((spawn-[\w-]+)\)$/;

/** The end of a notice, which identifies it. */
function mark(spawn_id: string): string {
  return `(${spawn_id})`;
}

function nameShown({ name, path, backend }: Spawn): string {
  return name ?? nameOf({ path, backend });
}
