/**
 * Identifies the caller of a tool by what its request proves (contract 6); a name proves nothing.
 */

import type { CallEvidence } from "../../features/agents/adapter.ts";

/** The caller. Without a `peer_id` it is unknown to the mesh. */
export interface McpCaller {
  readonly peer_id: string | null;
  readonly name: string;
  /** What identified the caller: `session` (by an adapter), `process`, `certificate` or `none`. */
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

export interface IdentifyDeps {
  /**
   * The peer of the session that a call proves to come from. Undefined if the call proves no
   * session; `peer` is undefined for an unknown session.
   */
  peerOfCall?(evidence: CallEvidence): { readonly peer: KnownPeer | undefined } | undefined;
  /**
   * Whether an adapter identifies the calls of this backend. If so, a process alone proves no
   * identity.
   */
  identifiesCalls?(backend: string): boolean;
  /** The peer whose agent is this process or one of its ancestors. */
  peerOfProcess(pid: number): KnownPeer | undefined;
  /** The peer, if the certificate is valid and was issued to this peer. */
  peerOfCertificate(peer_id: string, certificate: string): Promise<KnownPeer | undefined>;
}

/** The identity of an unknown caller; peers cannot take names with this prefix (contract 2). */
export const UNKNOWN_CALLER: McpCaller = { peer_id: null, name: "mcp-http", proof: "none" };

/** Identifies callers by a pid that the route has proved, or by a certificate. */
export function identifyByHeaders(deps: IdentifyDeps): Identify {
  return async ({ headers }, meta) => {
    const pid = pidOf(headers.get("x-mesh-pid"));
    const claim = deps.peerOfCall?.({ pid, meta });
    if (claim) return claim.peer ? toCaller(claim.peer, "session") : UNKNOWN_CALLER;
    const processPeer = pid === undefined ? undefined : deps.peerOfProcess(pid);
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

/** The pid in the header `x-mesh-pid`; undefined if it is malformed. */
export function pidOf(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}
