/** The pane transport: types a message into a pane, if the right agent reads it. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import type { Reason } from "protocol/reasons.ts";
import type { IsAlive } from "../../host/processes.ts";
import type { Failure } from "../../host/tmux/connection.ts";
import type { PreparedKeys, TerminalServer } from "../../host/terminal_server.ts";
import {
  type AgentPeer,
  type KeyResult,
  type OutgoingMessage,
  type Readiness,
  type Receipt,
  refused,
  type TerminalTransport,
  toReadiness,
} from "./adapter.ts";
import type { Key } from "protocol/agents/contract.ts";
import {
  inspect,
  type InspectedPane,
  inspectForeground,
  type Inspection,
  type InspectionOptions,
  lostReason,
  typeIfUnchanged,
  unreachableReason,
} from "./pane_inspection.ts";
import { textToType } from "./pane_text.ts";

/** The pause between paste and Enter: the shortest that worked for all agents and sizes. */
const SETTLE_MS = 300;
/** Reads of the composer to find the pasted text, `SETTLE_MS` apart. */
const READS_MAX = 4;
/** Maximum peers whose ready times are remembered. Beyond it, all of them warm up again. */
const WARM_MAX = 200;

export interface PaneOptions extends InspectionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly settle_ms?: number;
  /** Time for which a composer must be shown before the process reliably reads a paste. */
  readonly warm_up_ms?: number;
  /** True if the agent reads text typed within a turn only after that turn. */
  readonly waits_for_turn_end?: boolean;
  /** True if the agent's process is running. Called often. */
  readonly isAlive?: IsAlive;
}

export class PaneTransport implements TerminalTransport {
  readonly name = "pane";
  readonly waits_for_turn_end: boolean;
  readonly #options: PaneOptions;
  /** The time since which each peer's process has been ready, for agents that warm up. */
  readonly #ready = new Map<string, { readonly process: string; readonly since: number }>();
  /** The text to type for each message: computed once, because messages are queued for hours. */
  readonly #texts = new WeakMap<OutgoingMessage, { readonly text: string | undefined }>();

  constructor(options: PaneOptions) {
    this.#options = options;
    this.waits_for_turn_end = options.waits_for_turn_end ?? false;
  }

  async check(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Readiness> {
    if (this.#textOf(outgoing) === undefined) return toReadiness("bad_frame");
    const inspection = await inspect(this.#options, peer);
    if (inspection.ok) return { ready: true };
    const { reason, dialog } = inspection;
    return { ready: false, reason, ...(dialog && { waits_for: dialog }) };
  }

  async deliver(peer: AgentPeer, outgoing: OutgoingMessage): Promise<Receipt> {
    const text = this.#textOf(outgoing);
    if (text === undefined) return refused("bad_frame");
    if (peer.tmux_socket === null || peer.pane_id === null) return refused("no_pane");
    const server = this.#options.terminalServers.at(peer.tmux_socket);
    return await server.runExclusive(peer.pane_id, async () => {
      const receipt = await this.#paste(server, peer, text);
      return receipt ?? await this.#submit(peer, outgoing.delivery_id, text);
    });
  }

  async typeKeys(
    peer: AgentPeer,
    keys: readonly Key[],
    accepted: ReadonlySet<Reason>,
  ): Promise<KeyResult> {
    if (peer.tmux_socket === null || peer.pane_id === null) {
      return { state: "refused", reason: "no_pane" };
    }
    const server = this.#options.terminalServers.at(peer.tmux_socket);
    const typing = { keys, draft_may_change: accepted.has("draft_present") };
    return await server.runExclusive(
      peer.pane_id,
      () => typeKeys(server, () => inspect(this.#options, peer, accepted), typing),
    );
  }

  #textOf(outgoing: OutgoingMessage): string | undefined {
    const known = this.#texts.get(outgoing) ?? { text: textToType(outgoing, this.#options.screen) };
    this.#texts.set(outgoing, known);
    return known.text;
  }

  /** Pastes the text. Undefined once the text is in the pane; otherwise the receipt to return. */
  async #paste(
    server: TerminalServer,
    peer: AgentPeer,
    text: string,
  ): Promise<Receipt | undefined> {
    const first = await inspect(this.#options, peer);
    if (!first.ok) return refused(first.reason);
    if (this.#isStarting(peer)) return refused("starting");
    const ready = await server.prepare([{ paste: text }]);
    if (!ready.ok) return this.#failed(server, ready, "nothing pasted");
    const { prepared } = ready;
    const inspection = await inspect(this.#options, peer);
    if (!inspection.ok) {
      await prepared.discard();
      return refused(inspection.reason);
    }
    const pasted = await typeIfUnchanged(inspection, prepared);
    if (pasted === "done") return undefined;
    if (pasted === "changed" || pasted === "unmarked") {
      await prepared.discard();
      return refused(pasted === "changed" ? "changed" : "unmarked_paste");
    }
    if (pasted.reason === "error") await prepared.discard();
    const mayHaveRun = pasted.reason === "lost" || pasted.reason === "timeout";
    return this.#failed(server, pasted, mayHaveRun ? "maybe pasted" : "nothing pasted");
  }

  /** Presses Enter only if the composer shows exactly the text; otherwise leaves the text there. */
  async #submit(peer: AgentPeer, delivery_id: string, text: string): Promise<Receipt> {
    const { clock, log, screen, settle_ms = SETTLE_MS } = this.#options;
    let found: string = "not_shown";
    for (let read = 0; read < READS_MAX; read++) {
      await clock.sleep(settle_ms);
      const inspection = await inspectForeground(this.#options, peer);
      if (!inspection.ok) {
        found = inspection.reason;
        break;
      }
      const { view } = inspection;
      if (!screen.composerHolds(view, text) && !screen.collapsedPaste?.(view)) continue;
      const submitted = await pressEnter(inspection);
      if (submitted === "done") return { state: "sent" };
      found = submitted;
      if (submitted !== "changed") break;
    }
    log.warn("A message was typed but not submitted", { delivery_id, pane: peer.pane_id, found });
    return { state: "unclear", reason: "typed_not_submitted" };
  }

  #isStarting({ peer_id, agent_pid, agent_started }: AgentPeer): boolean {
    const { clock, warm_up_ms } = this.#options;
    if (warm_up_ms === undefined) return false;
    const process = `${agent_pid} ${agent_started}`;
    const known = this.#ready.get(peer_id);
    if (known?.process === process) return clock.monotonic() - known.since < warm_up_ms;
    if (this.#ready.size >= WARM_MAX) this.#ready.clear();
    this.#ready.set(peer_id, { process, since: clock.monotonic() });
    return true;
  }

  #failed(
    server: TerminalServer,
    { reason, message }: Failure,
    state: "maybe pasted" | "nothing pasted",
  ): Receipt {
    this.#options.log.warn(`${server.kind} did not type a message`, { reason, message, state });
    return state === "maybe pasted"
      ? { state: "unclear", reason: lostReason(server) }
      : refused(unreachableReason(server));
  }
}

/** `changed`: the pane has changed since its inspection, and no key was pressed. */
async function pressEnter(inspection: InspectedPane): Promise<string> {
  const { server } = inspection;
  const ready = await server.prepare([{ key: "Enter" }]);
  const typed = ready.ok ? await typeIfUnchanged(inspection, ready.prepared) : ready;
  return typeof typed === "string" ? typed : `${server.kind}_${typed.reason}`;
}

/** A program draws while a person types, so the pane may change between a check and the keys. */
const TRIES_MAX = 5;

interface Typing {
  /** If there are none, the pane is only checked. */
  readonly keys: readonly Key[];
  /** True if the person accepts a draft. The draft may then change at any time. */
  readonly draft_may_change: boolean;
}

/** Types all keys or none. Call it with the pane locked. */
export async function typeKeys(
  server: TerminalServer,
  inspect: () => Promise<Inspection>,
  { keys, draft_may_change }: Typing,
): Promise<KeyResult> {
  const first = await inspect();
  if (!first.ok) return { state: "refused", reason: first.reason };
  if (keys.length === 0) return { state: "typed", overruled: first.overruled };
  const ready = await server.prepare(keys);
  if (!ready.ok) return { state: "refused", reason: unreachableReason(server) };
  const result = await tryToType(inspect, ready.prepared, draft_may_change);
  if (result.state !== "typed") await ready.prepared.discard();
  return result;
}

async function tryToType(
  inspect: () => Promise<Inspection>,
  prepared: PreparedKeys,
  draft_may_change: boolean,
): Promise<KeyResult> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const inspection = await inspect();
    if (!inspection.ok) return { state: "refused", reason: inspection.reason };
    const typed = await typeIfUnchanged(inspection, prepared, { draft_may_change });
    if (typed === "done") return { state: "typed", overruled: inspection.overruled };
    if (typed === "unmarked") return { state: "refused", reason: "unmarked_paste" };
    if (typed !== "changed") return resultOfFailure(inspection.server, typed);
  }
  return { state: "refused", reason: "changed" };
}

/** After an error of one command of tmux, the commands before it have run. */
export function resultOfFailure(server: TerminalServer, { reason }: Failure): KeyResult {
  const mayHaveRun = reason === "lost" || reason === "timeout" || reason === "error";
  return mayHaveRun
    ? { state: "unclear", reason: lostReason(server) }
    : { state: "refused", reason: unreachableReason(server) };
}
