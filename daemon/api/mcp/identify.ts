/** Who calls a tool: what its request proves (contract 6); a name alone proves nothing. */

import type { CallEvidence } from "../../features/agents/adapter.ts";

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

interface KnownPeer {
  readonly peer_id: string;
  readonly name: string;
  readonly backend?: string | null | undefined;
}

/** What an adapter says of a call: the peer, by the session that the call proves to come from. */
interface SessionClaim {
  readonly peer: KnownPeer | undefined;
}

export interface IdentifyDeps {
  /** The word of the adapter whose agent this call is from; undefined when it is none's. */
  peerOfCall?(signs: CallEvidence): Promise<SessionClaim | undefined>;
  /** Whether an adapter answers for this kind of agent: then its process alone proves nothing. */
  identifiesCalls?(backend: string): boolean;
  /** The peer whose agent runs in this process, or in one above it. */
  peerOfProcess(pid: number): Promise<KnownPeer | undefined>;
  /** The peer, if the certificate is its own and holds. */
  peerOfCertificate(peer_id: string, certificate: string): Promise<KnownPeer | undefined>;
}

/** The identity of an unknown caller; names that begin so are not for peers (contract 2). */
export const UNKNOWN_CALLER: McpCaller = { peer_id: null, name: "mcp-http", proof: "none" };

/** Reads the headers of MCP requests: a pid, which the route has proved, or a certificate. */
export function identifyByHeaders(deps: IdentifyDeps): Identify {
  return async ({ headers }, meta) => {
    const pid = pidOf(headers.get("x-mesh-pid"));
    const claim = await deps.peerOfCall?.({ pid, meta });
    if (claim) return claim.peer ? toCaller(claim.peer, "session") : UNKNOWN_CALLER;
    const processPeer = pid === undefined ? undefined : await deps.peerOfProcess(pid);
    const needsSession = deps.identifiesCalls?.(processPeer?.backend ?? "") ?? false;
    if (processPeer && !needsSession) return toCaller(processPeer, "process");
    const peer_id = headers.get("x-mesh-peer");
    const certificate = headers.get("x-mesh-certificate");
    const certifiedPeer = peer_id && certificate
      ? await deps.peerOfCertificate(peer_id, certificate)
      : undefined;
    return certifiedPeer ? toCaller(certifiedPeer, "certificate") : UNKNOWN_CALLER;
  };
}

function toCaller({ peer_id, name }: KnownPeer, proof: string): McpCaller {
  return { peer_id, name, proof };
}

function pidOf(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}
