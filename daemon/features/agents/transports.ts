/** The transports to each agent, and what their checks report. */

import { type Backend, type Transport } from "./contract.ts";
import type {
  Adapter,
  AgentPeer,
  AgentTransport,
  CallEvidence,
  Observation,
  OutgoingMessage,
  Probe,
  WaitingHooks,
} from "./adapter.ts";
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
  readonly #knownFailures: KnownFailures;

  constructor(adapters: readonly Adapter[], knownFailures: KnownFailures) {
    this.#adapters = new Map(adapters.map((adapter) => [adapter.backend, adapter]));
    this.#knownFailures = knownFailures;
  }

  /** The transports for a message, in fallback order; those that failed in a selftest come last. */
  transports(peer: AgentPeer, outgoing: OutgoingMessage): readonly AgentTransport[] {
    const transports = this.#adapterOf(peer)?.transports(peer, outgoing) ?? [];
    const failed = ({ name }: AgentTransport) => this.degraded(peer.backend, name) !== undefined;
    return [...transports.filter((transport) => !failed(transport)), ...transports.filter(failed)];
  }

  /** Why the last selftest found this transport degraded; undefined if it passed or never ran. */
  degraded(backend: Backend | null, transport: string): string | undefined {
    return this.#knownFailures.degraded(backend, transport);
  }

  /** Reads the results of a selftest that ran since they were last read. */
  refreshKnownFailures(): void {
    this.#knownFailures.refresh();
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
        degraded: this.degraded(peer.backend, transport.name) ?? null,
      });
    }
    return probes;
  }

  /** Whether messages reach an agent without a waiting hook: through its pane or its own socket. */
  async isReachableWithoutHook(peer: AgentPeer): Promise<boolean> {
    if (peer.pane_id !== null) return true;
    return (await this.probe(peer)).some(({ transport, ready }) => transport !== "hook" && ready);
  }

  /** Whether this backend has an adapter, so that messages can be delivered to it. */
  hasAdapter(backend: Backend): boolean {
    return this.#adapters.has(backend);
  }

  /** The best transport that the adapter has for this agent, whatever its state is now. */
  transport(peer: AgentPeer): Transport {
    return this.#adapterOf(peer)?.transport(peer) ?? "none";
  }

  /** What can be observed of an agent now; undefined when nothing can. */
  observe(peer: AgentPeer): Promise<Observation | undefined> {
    return this.#adapterOf(peer)?.observe(peer) ?? Promise.resolve(undefined);
  }

  /** The waiting hooks of one kind of agent; undefined if no hook can wake such an agent. */
  waitingHooks(agent: string): WaitingHooks | undefined {
    return this.#adapters.get(agent)?.waiters;
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

  /** Whether the adapter identifies callers. If so, an agent's process alone proves no identity. */
  identifiesCalls(backend: string): boolean {
    return this.#adapters.get(backend)?.sessionOfCall !== undefined;
  }

  #adapterOf({ backend }: AgentPeer): Adapter | undefined {
    return this.#adapters.get(backend ?? "");
  }
}
