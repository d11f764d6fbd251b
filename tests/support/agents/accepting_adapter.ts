/** An agent that accepts every message, for tests of what agents read. */

import type {
  Adapter,
  AgentPeer,
  OutgoingMessage,
  Receipt,
} from "../../../daemon/features/agents/adapter.ts";

/** An adapter that records what an agent would read. */
export function recordingAgent() {
  const framed: string[] = [];
  const transport = {
    name: "native" as const,
    check: () => Promise.resolve({ ready: true as const }),
    deliver: (_: AgentPeer, outgoing: OutgoingMessage): Promise<Receipt> => {
      framed.push(outgoing.framed);
      return Promise.resolve({ state: "accepted" });
    },
  };
  const adapter: Adapter = {
    backend: "generic",
    transports: () => [transport],
    transport: () => "native",
    observe: () => Promise.resolve(undefined),
  };
  return { adapter, framed };
}
