/** The transports to each agent, and the results of their checks. */

import type {
  Adapter,
  AgentPeer,
  AgentTransport,
  CallEvidence,
  OutgoingMessage,
  Probe,
  TerminalTransport,
  WaitingHooks,
} from "./adapter.ts";
import { kindOf } from "../../host/terminal_addresses.ts";
import type { KnownFailures } from "./selftest/known_failures.ts";

/** Passed to a transport's check when there is no message to send; it is never delivered. */
const PROBE_MESSAGE: OutgoingMessage = {
  delivery_id: "probe",
  proof_id: "probe",
  kind: "notify",
  human: false,
  framed: "[mesh] probe",
};

export class AgentTransports {
  readonly #adapters: ReadonlyMap<string, Adapter>;
  readonly knownFailures: KnownFailures;

  constructor(adapters: readonly Adapter[], knownFailures: KnownFailures) {
    this.#adapters = new Map(adapters.map((adapter) => [adapter.backend, adapter]));
    this.knownFailures = knownFailures;
  }

  /** Undefined for a backend to which no messages can be delivered. */
  adapterOf(backend: string | null): Adapter | undefined {
    return this.#adapters.get(backend ?? "");
  }

  /** The transports for a message, in fallback order; those that failed in a selftest come last. */
  transports(peer: AgentPeer, outgoing: OutgoingMessage): readonly AgentTransport[] {
    const transports = this.adapterOf(peer.backend)?.transports(peer, outgoing) ?? [];
    const failed = ({ name }: AgentTransport) =>
      this.knownFailures.degraded(peer.backend, name) !== undefined;
    return [...transports.filter((transport) => !failed(transport)), ...transports.filter(failed)];
  }

  /** The transport that types into the terminal of an agent; undefined if none does. */
  terminalOf(peer: AgentPeer): TerminalTransport | undefined {
    return this.transports(peer, PROBE_MESSAGE).find(isTerminal);
  }

  /** Checks each transport to an agent, in fallback order; delivers nothing. */
  async probe(peer: AgentPeer): Promise<Probe[]> {
    const probes: Probe[] = [];
    for (const transport of this.transports(peer, PROBE_MESSAGE)) {
      const readiness = await transport.check(peer, PROBE_MESSAGE);
      probes.push({
        transport: transport.name,
        ready: readiness.ready,
        reason: readiness.ready ? null : readiness.reason,
        waits_for: readiness.ready ? undefined : readiness.waits_for,
        degraded: this.knownFailures.degraded(peer.backend, transport.name) ?? null,
      });
    }
    return probes;
  }

  /**
   * True if messages reach an agent without a waiting hook: through its pane or its own socket. A
   * kitty whose user does not allow remote control has windows that nobody can type into.
   */
  async isReachableWithoutHook(peer: AgentPeer): Promise<boolean> {
    const isInTmux = kindOf(peer.tmux_socket ?? "") === "tmux";
    if (peer.pane_id !== null && isInTmux) return true;
    const canType = peer.pane_id !== null;
    return (await this.probe(peer)).some(({ transport, ready, reason }) =>
      ready && transport !== "hook" ||
      canType && transport === "pane" && reason !== "kitty_unreachable"
    );
  }

  allWaitingHooks(): readonly WaitingHooks[] {
    return [...this.#adapters.values()].flatMap(({ waiters }) => waiters ?? []);
  }

  /** The session that an MCP call proves to come from; undefined if no adapter recognizes it. */
  sessionOfCall(evidence: CallEvidence): string | undefined {
    for (const adapter of this.#adapters.values()) {
      const session = adapter.sessionOfCall?.(evidence);
      if (session !== undefined) return session;
    }
    return undefined;
  }
}

function isTerminal(transport: AgentTransport): transport is TerminalTransport {
  return "typeKeys" in transport;
}
