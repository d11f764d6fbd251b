/** Who calls a tool: what its request proves (contract 6); a name alone proves nothing. */

import type { CallSigns } from "../../features/agents/adapter.ts";

/** Whoever calls. Without a `peer_id` it is nobody that the mesh knows. */
export interface McpCaller {
  readonly peer_id: string | null;
  readonly name: string;
  /** What told who it is: `session` (an adapter's word), `process`, `certificate` or `none`. */
  readonly proof: string;
}

/** `meta` is the call's `_meta`, in which some agents name their session. */
export interface Identify {
  (request: Request, meta: unknown): Promise<McpCaller> | McpCaller;
}

interface Known {
  readonly peer_id: string;
  readonly name: string;
  readonly backend?: string | null | undefined;
}

/** What an adapter says of a call: the peer, by the session that the call proves to come from. */
interface Spoken {
  readonly peer: Known | undefined;
}

export interface IdentifyNeeds {
  /** The word of the adapter whose agent this call is from; undefined when it is none's. */
  peerOfCall?(signs: CallSigns): Promise<Spoken | undefined>;
  /** Whether an adapter answers for this kind of agent: then its process alone proves nothing. */
  speaksFor?(backend: string): boolean;
  /** The peer whose agent runs in this process, or in one above it. */
  peerOfProcess(pid: number): Promise<Known | undefined>;
  /** The peer, if the certificate is its own and holds. */
  peerOfCertificate(peer_id: string, certificate: string): Promise<Known | undefined>;
}

/** The identity of an unknown caller; names that begin so are not for peers (contract 2). */
export const NOBODY: McpCaller = { peer_id: null, name: "mcp-http", proof: "none" };

/** Reads the headers of MCP requests: a pid, which the route has proved, or a certificate. */
export function identifyByHeaders(needs: IdentifyNeeds): Identify {
  return async ({ headers }, meta) => {
    const pid = pidOf(headers.get("x-mesh-pid"));
    const spoken = await needs.peerOfCall?.({ pid, meta });
    if (spoken) return spoken.peer ? toCaller(spoken.peer, "session") : NOBODY;
    const running = pid === undefined ? undefined : await needs.peerOfProcess(pid);
    const speaks = needs.speaksFor?.(running?.backend ?? "") ?? false;
    if (running && !speaks) return toCaller(running, "process");
    const peer_id = headers.get("x-mesh-peer");
    const certificate = headers.get("x-mesh-certificate");
    const certified = peer_id && certificate
      ? await needs.peerOfCertificate(peer_id, certificate)
      : undefined;
    return certified ? toCaller(certified, "certificate") : NOBODY;
  };
}

function toCaller({ peer_id, name }: Known, proof: string): McpCaller {
  return { peer_id, name, proof };
}

function pidOf(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}
