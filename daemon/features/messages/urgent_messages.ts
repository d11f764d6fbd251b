/** Urgent messages to working agents that wait for a hook, and the markers for these hooks. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Context } from "../../data/context.ts";
import type { AgentPeer, Hooks, ToolContext } from "../agents/adapter.ts";
import type { AgentPeers } from "../peers/agent_peers.ts";
import { type Directory, takesHookMessages } from "../peers/directory.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { peersWithUrgent } from "./ledger/ledger.ts";
import { dirname } from "kit/core/path.ts";
import type { Log } from "kit/core/log.ts";
import { markerPath, removeIfPresent } from "../../host/paths.ts";
import { nextTurn } from "kit/core/timeout.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** Maximum wait of an urgent message for a tool call: the end of its turn may go unreported. */
export const HOLD_MS_MAX = 5 * 60_000;
/** Time for which a marker is kept for the proof of a message that was handed over. */
const PROOF_WAIT_MS_MAX = 10 * 60_000;
/** Maximum sessions with a marker at the same time. */
const SESSIONS_MAX = 1_000;

interface UrgentMessagesDeps {
  readonly agentPeers: Pick<AgentPeers, "find">;
  readonly directory: Pick<Directory, "address">;
  readonly hooks: Hooks;
  readonly markers: Markers;
}

export class UrgentMessages {
  readonly #ctx: Context;
  readonly #deps: UrgentMessagesDeps;
  /** Sessions whose hook has yet to report that the model read a message, each with its limit. */
  readonly #unproved = new Map<string, { readonly agent: string; readonly until: number }>();
  #isRefreshDue = false;
  #isClosed = false;

  constructor(ctx: Context, deps: UrgentMessagesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** True if a message waits for the hook of the next tool call, not for the end of the turn. */
  awaitsToolCall(
    peer: AgentPeer,
    { urgent, created_at }: Pick<StoredMessage, "urgent" | "created_at">,
  ): boolean {
    const age_ms = this.#ctx.clock.now() - created_at;
    // The age is negative after the clock was set back; holding the message could last as long.
    if (!urgent || age_ms < 0 || age_ms >= HOLD_MS_MAX) return false;
    return this.#toolContextAtWork(peer) !== undefined;
  }

  /** Keeps the marker of an agent until `release`, or for `PROOF_WAIT_MS_MAX`. */
  awaitProof(session_id: string, agent: string): void {
    const until = this.#ctx.clock.monotonic() + PROOF_WAIT_MS_MAX;
    setLatest(this.#unproved, session_id, { agent, until }, SESSIONS_MAX);
    this.refresh();
  }

  /** The message was proved, or its session has ended. */
  release(session_id: string): void {
    if (this.#unproved.delete(session_id)) this.refresh();
  }

  /**
   * Makes and removes markers, in the next turn of the event loop: one commit may have several
   * reasons, and its answers do not wait for files.
   */
  refresh(): void {
    if (this.#isRefreshDue) return;
    this.#isRefreshDue = true;
    void nextTurn().then(() => {
      this.#isRefreshDue = false;
      if (!this.#isClosed) this.#keepWanted();
    }).catch((error) =>
      // The next tick tries again.
      this.#ctx.log.warn("The markers of urgent messages cannot be determined", { error })
    );
  }

  tick(): void {
    this.#keepWanted();
    this.#deps.markers.restore();
  }

  #keepWanted(): void {
    const { agentPeers, markers } = this.#deps;
    const { clock, db } = this.#ctx;
    const wanted = new Set<string>();
    for (const peer_id of peersWithUrgent(db)) {
      const peer = agentPeers.find(peer_id);
      if (peer?.backend && this.#toolContextAtWork(peer)) wanted.add(peer.backend);
    }
    for (const [session_id, { agent, until }] of this.#unproved) {
      if (until > clock.monotonic()) wanted.add(agent);
      else this.#unproved.delete(session_id);
    }
    markers.keep(wanted);
  }

  /** Removes all markers, as the daemon ends. */
  close(): void {
    this.#isClosed = true;
    this.#deps.markers.keep(new Set());
  }

  /** Undefined unless the peer is in a turn of an agent with such a hook. */
  #toolContextAtWork(peer: AgentPeer): ToolContext | undefined {
    const { peer_id, backend, runtime_session_id, turn_state, turn_at } = peer;
    if (!takesHookMessages(this.#deps.directory, peer_id)) return undefined;
    if (backend === null || runtime_session_id === null) return undefined;
    if (turn_state !== "working" && turn_state !== "awaiting_input") return undefined;
    const tool = this.#deps.hooks[backend]?.tool_context;
    const reported_ms = this.#ctx.clock.now() - (turn_at ?? 0);
    return reported_ms <= (tool?.turn_ms_max ?? Infinity) ? tool : undefined;
  }
}

export interface Markers {
  /** Makes the markers of these agents unless they are kept already, and removes all others. */
  keep(agents: ReadonlySet<string>): void;
  /** Makes the kept markers again, because a hook that finds no daemon removes its own. */
  restore(): void;
}

/** If a marker cannot be written, as on a full disk, hooks stay silent and messages wait. */
export class MarkerFiles implements Markers {
  readonly #state_dir: string;
  readonly #log: Log;
  /** True if files of an earlier daemon may exist. */
  #maybeStale = true;
  #kept: ReadonlySet<string> = new Set();

  constructor(state_dir: string, log: Log) {
    this.#state_dir = state_dir;
    this.#log = log;
  }

  keep(agents: ReadonlySet<string>): void {
    this.#unlessFailed(() => {
      if (this.#maybeStale) this.#removeAll();
      for (const agent of this.#kept) {
        if (!agents.has(agent)) removeIfPresent(markerPath(this.#state_dir, agent));
      }
      for (const agent of agents) if (!this.#kept.has(agent)) this.#write(agent);
      this.#kept = new Set(agents);
    });
  }

  restore(): void {
    this.#unlessFailed(() => this.#kept.forEach((agent) => this.#write(agent)));
  }

  #unlessFailed(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#log.warn("The markers of urgent messages cannot be written", { error });
    }
  }

  #write(agent: string): void {
    const path = markerPath(this.#state_dir, agent);
    const write = () => Deno.writeTextFileSync(path, "", { mode: 0o600 });
    if (unlessMissing(() => (write(), true))) return;
    Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    write();
  }

  #removeAll(): void {
    const dir = dirname(markerPath(this.#state_dir, "any"));
    for (const { name } of unlessMissing(() => [...Deno.readDirSync(dir)]) ?? []) {
      Deno.removeSync(`${dir}/${name}`);
    }
    this.#maybeStale = false;
  }
}
