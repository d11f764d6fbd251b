/** Identifies the caller of a tool by the proofs of its request (contract 6), never by a name. */

import type { CallEvidence } from "../../features/agents/adapter.ts";

/** The caller. Without a `peer_id` it is unknown to the mesh. */
export interface McpCaller {
  readonly peer_id: string | null;
  readonly name: string;
  /** The proof of the caller: `session` (by an adapter), `process`, `certificate` or `none`. */
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
   * The peer of the session that a call proves to come from. Undefined if the call names none;
   * `peer` is undefined if it is the session of no peer.
   */
  peerOfCall?(evidence: CallEvidence): { readonly peer: KnownPeer | undefined } | undefined;
  /**
   * True if a process that is proved to be this peer's identifies the call. False if an adapter
   * identifies the peer's calls, or if the call names a session and the peer's agent has hooks:
   * another agent may send that call.
   */
  isCallOfProcess?(peer: KnownPeer, call: { readonly names_session: boolean }): boolean;
  /** The nearest peer at or above a process. */
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
    const call = deps.peerOfCall?.({ pid, meta });
    if (call?.peer) return toCaller(call.peer, "session");
    const processPeer = pid === undefined ? undefined : deps.peerOfProcess(pid);
    const names_session = call !== undefined;
    if (processPeer && (deps.isCallOfProcess?.(processPeer, { names_session }) ?? true)) {
      return toCaller(processPeer, "process");
    }
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
