/**
 * The panes of peers, for people: shows their screens, and types into them. Only a pane that is
 * proved to be the peer's is used.
 */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { PaneFacts, PaneObservation } from "../../host/tmux/pane_observer.ts";
import { mustBeOnMachine } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { LifecycleDeps } from "./deps.ts";
import { stripEscapes } from "../agents/screens.ts";
import type { PaneScreen } from "protocol/lifecycle.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { TypedKeys, TypingRequest } from "protocol/panes.ts";

/** tmux allows windows of 10,000 rows and columns; nobody reads that much at once. */
export const ROWS_MAX = 500;
/** A longer row loses its colours, and its text beyond `COLUMNS_MAX`. */
export const ROW_CHARS_MAX = 8_000;
export const COLUMNS_MAX = 1_000;

type PanedPeer = StoredPeer & { readonly pane_id: string };

interface PanesDeps
  extends Pick<LifecycleDeps, "machine" | "paneObserver" | "processes" | "transports"> {
  /** True if the configuration allows it. */
  readonly typing_allowed: boolean;
}

export class Panes {
  readonly #ctx: Context;
  readonly #deps: PanesDeps;

  constructor(ctx: Context, deps: PanesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * The screen of the peer's pane. The pane is verified together with its screen, so that a pane
   * with a new program is not shown.
   */
  async show(peer_id: string): Promise<PaneScreen> {
    const { paneObserver } = this.#deps;
    const peer = this.#mustHavePane(peer_id);
    const { pane_id, tmux_socket } = peer;
    const observed = await paneObserver.screen(tmux_socket, pane_id);
    const { pane, rows } = this.#mustBeProved(peer, observed);
    const { width, height, cursor_x: x, cursor_y: y, cursor_shown, in_mode } = pane;
    const cursor = cursor_shown ? { x, y } : null;
    return { peer_id, pane_id, width, height, cursor, in_mode, rows: limitRows(rows) };
  }

  /**
   * Types all keys or none. The pane must be proved to be the peer's, and must pass the checks of a
   * delivery except for the reasons that the person accepts. Without keys, only checks.
   */
  async type(peer_id: string, { keys, accept }: TypingRequest): Promise<TypedKeys> {
    const { typing_allowed, paneObserver, transports } = this.#deps;
    if (!typing_allowed) throw new Problem("typing_off", {});
    const before = this.#mustHavePane(peer_id);
    const { pane_id, tmux_socket } = before;
    this.#mustBeProved(before, await paneObserver.at(tmux_socket, pane_id));
    const peer = this.#mustHavePane(peer_id);
    const typed = await transports.terminalOf(peer)?.typeKeys(peer, keys, new Set(accept)) ??
      { state: "refused", reason: "no_transport" };
    if (typed.state === "typed") {
      return { peer_id, pane_id, keys: keys.length, overruled: [...typed.overruled] };
    }
    const { reason } = typed;
    const facts = { peer_id, reason, why: sentenceOf(reason) };
    throw new Problem(typed.state === "refused" ? "not_typed" : "typing_unclear", facts);
  }

  /** A peer that has a pane on this machine. */
  #mustHavePane(peer_id: string): PanedPeer {
    const peer = rows.get(this.#ctx.db, peer_id);
    if (!peer || peer.closed) throw new Problem("unknown_peer", { peer: peer_id });
    const { status, pane_id } = peer;
    if (status === "retired") throw new Problem("peer_retired", { peer_id });
    mustBeOnMachine(peer, this.#deps.machine);
    if (pane_id === null) throw new Problem("missing_pane", { peer_id });
    return { ...peer, pane_id };
  }

  /**
   * Returns the observation of the pane. Refuses a pane that is not proved to be the peer's, or
   * that the peer has left since `before` was read.
   */
  #mustBeProved<S extends PaneObservation>(before: PanedPeer, seen: S): Found<S> {
    const { peer_id, pane_id, tmux_socket } = before;
    const unverified = (reason: string) =>
      new Problem("pane_unverified", { peer_id, pane_id, reason });
    if (!isFound(seen)) {
      if (seen.state === "missing") throw new Problem("missing_pane", { peer_id });
      const terminal = kindOf(tmux_socket ?? "");
      throw unverified(`${terminal} does not answer, or its socket is not trusted`);
    }
    const peer = this.#mustHavePane(peer_id);
    const hasMoved = peer.pane_id !== pane_id || peer.tmux_socket !== tmux_socket;
    const reason = hasMoved ? "it has moved" : this.#whyUnproved(peer, seen.pane);
    if (reason !== undefined) throw unverified(reason);
    return seen;
  }

  /** The reason why the pane is not proved to be the peer's; undefined if it is. */
  #whyUnproved(peer: StoredPeer, pane: PaneFacts): string | undefined {
    const { agent_pid, agent_started, agent_proved } = peer;
    const { processes, paneObserver } = this.#deps;
    if (pane.dead) return "the program in the pane has ended";
    if (agent_pid === null || agent_started === null) return "no process of it is known";
    // Any caller may register any pid and pane; only the process or the daemon can prove them.
    if (!agent_proved) return "its process was named by another program";
    if (!processes.isAlive(agent_pid, agent_started)) return "its process has ended";
    if (!paneObserver.holds(pane, agent_pid)) return "its process runs elsewhere";
    return undefined;
  }
}

type Found<S> = Extract<S, { state: "found" }>;

function isFound<S extends PaneObservation>(seen: S): seen is Found<S> {
  return seen.state === "found";
}

function limitRows(read: readonly string[]): string[] {
  return read.slice(0, ROWS_MAX).map((row) =>
    row.length > ROW_CHARS_MAX ? stripEscapes(row).slice(0, COLUMNS_MAX) : row
  );
}
