/** Finds the peer that calls, by its session, process, certificate or pane (contracts 6, 11). */

import type { CallEvidence } from "../../features/agents/adapter.ts";
import { definitionOf } from "../../features/agents/registry.ts";
import type { AgentTransports } from "../../features/agents/transports.ts";
import { type Certificates, mustMatchPeer } from "../../features/peers/identity/certificates.ts";
import type { IdentityLookup, NamedPane } from "../../features/peers/identity/identity_lookup.ts";
import type { Address } from "protocol/peers/record.ts";
import type { Directory } from "../../features/peers/directory.ts";
import { lineageOf, type ProcessTable } from "../../host/processes.ts";
import * as peerRows from "../../features/peers/store.ts";
import type { Context } from "../../data/context.ts";
import type { IdentifyDeps } from "../mcp/identify.ts";

interface CallingPeersDeps {
  readonly certificates: Certificates;
  readonly directory: Directory;
  readonly identityLookup: IdentityLookup;
  readonly processes: Pick<ProcessTable, "startTimeOf" | "parentOf">;
  readonly transports: AgentTransports;
}

/** The peer that calls, and what identified it. */
interface CallingPeer {
  readonly peer_id: string;
  readonly name: string;
  readonly proof: "process" | "session" | "pane";
}

export class CallingPeers implements IdentifyDeps {
  readonly #ctx: Context;
  readonly #deps: CallingPeersDeps;

  constructor(ctx: Context, deps: CallingPeersDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * The peer of the session that a call proves to come from. Undefined if the call names none.
   * While the process of a session runs, only calls from that process count, so that no other agent
   * of the same kind can speak for the session.
   */
  peerOfCall(evidence: CallEvidence): { peer: Address | undefined } | undefined {
    const { directory, identityLookup, processes, transports } = this.#deps;
    const call = transports.sessionOfCall(evidence);
    if (!call) return undefined;
    const lineage = lineageOf(processes, evidence.pid);
    const peer = identityLookup.peerOfSession({ session: call }, { lineage });
    return { peer: peer && directory.address(peer.peer_id) };
  }

  isCallOfProcess(
    { backend = null }: { readonly backend?: string | null | undefined },
    { names_session }: { readonly names_session: boolean },
  ): boolean {
    const identifiesCalls = this.#deps.transports.adapterOf(backend)?.sessionOfCall !== undefined;
    // The session may belong to another agent, such as an agent that this agent started in its
    // shell.
    return !identifiesCalls && !(names_session && definitionOf(backend)?.hooks);
  }

  /** The nearest peer at or above a process that the caller is proved to be. */
  peerOfProcess(pid: number): Address | undefined {
    const found = this.callerOf({ pid });
    return found && this.#deps.directory.address(found.peer_id);
  }

  /**
   * The peer that calls. `pid` is proved to be the caller's process; the session and the pane are
   * only what its environment names. A session counts if its agent's server runs the process.
   */
  callerOf(
    { pid, session, pane }: {
      readonly pid: number | undefined;
      readonly session?: string | undefined;
      readonly pane?: NamedPane | undefined;
    },
  ): CallingPeer | undefined {
    const { identityLookup, processes } = this.#deps;
    const byProcess = identityLookup.peerOfProcesses(lineageOf(processes, pid));
    if (byProcess) return toCallingPeer(byProcess.peer, "process");
    const bySession = session && this.peerOfCall({ pid, session })?.peer;
    if (bySession) return toCallingPeer(bySession, "session");
    return toCallingPeer(pane && identityLookup.peerOfPane(pane), "pane");
  }

  /** The peer, if the certificate names it and the peer's record still matches the certificate. */
  async peerOfCertificate(peer_id: string, certificate: string): Promise<Address | undefined> {
    const certified = await this.certifiedId(certificate);
    return certified === peer_id ? this.#deps.directory.find(peer_id) : undefined;
  }

  /** The id in a certificate that matches the peer's record; undefined for a retired peer. */
  async certifiedId(certificate: string): Promise<string | undefined> {
    const claims = await this.#deps.certificates.verify(certificate);
    const peer = peerRows.get(this.#ctx.db, claims.peer_id);
    if (!peer || peer.status === "retired") return undefined;
    mustMatchPeer(claims, peer);
    return peer.peer_id;
  }
}

function toCallingPeer(
  peer: { readonly peer_id: string | null; readonly name: string } | undefined,
  proof: CallingPeer["proof"],
): CallingPeer | undefined {
  return peer?.peer_id ? { peer_id: peer.peer_id, name: peer.name, proof } : undefined;
}
