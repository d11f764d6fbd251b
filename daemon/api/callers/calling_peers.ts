/** Which peer calls a tool: by its session, its process or its certificate (contract 6). */

import type { CallEvidence } from "../../features/agents/adapter.ts";
import type { AgentTransports } from "../../features/agents/transports.ts";
import { type Certificates, mustMatchPeer } from "../../features/peers/identity/certificates.ts";
import type { Address } from "../../features/peers/schemas.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { ProcessTable } from "../../host/processes.ts";
import * as peerRows from "../../features/peers/store.ts";
import type { Context } from "kit/data/context.ts";
import type { IdentifyDeps } from "../mcp/identify.ts";

/** How many ancestors of a tool's process are searched for its agent. */
const ANCESTORS_MAX = 16;

export interface CallingPeersDeps {
  readonly certificates: Certificates;
  readonly directory: Directory;
  readonly processes: ProcessTable;
  readonly transports: AgentTransports;
}

interface Process {
  readonly pid: number;
  readonly started: string;
}

export class CallingPeers implements IdentifyDeps {
  readonly #ctx: Context;
  readonly #deps: CallingPeersDeps;

  constructor(ctx: Context, deps: CallingPeersDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * The peer of the session that a call proves to come from. Undefined if the call proves no
   * session; `peer` is undefined if the session is unknown. While the process of a session runs,
   * only calls from that process count, so that no other agent of the same kind can speak for the
   * session.
   */
  peerOfCall(evidence: CallEvidence): { peer: Address | undefined } | undefined {
    const { directory, processes, transports } = this.#deps;
    const session = transports.sessionOfCall(evidence);
    if (session === undefined) return undefined;
    const [found] = peerRows.bySession(this.#ctx.db, session);
    const { agent_pid = null, agent_started = null } = found ?? {};
    const isRunning = agent_pid !== null && agent_started !== null &&
      processes.isAlive(agent_pid, agent_started);
    const isElsewhere = isRunning &&
      !this.#ancestorsOf(evidence.pid).some(({ pid }) => pid === agent_pid);
    return { peer: isElsewhere ? undefined : directory.findBySession(session) };
  }

  identifiesCalls(backend: string): boolean {
    return this.#deps.transports.adapterOf(backend)?.sessionOfCall !== undefined;
  }

  /** The peer whose agent is this process or one of its ancestors. */
  peerOfProcess(pid: number): Address | undefined {
    return this.#deps.directory.findByProcesses(this.#ancestorsOf(pid));
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

  /** A process and its ancestors, up to the first one that the kernel does not report. */
  #ancestorsOf(pid: number | undefined): Process[] {
    const { startTimeOf, parentOf } = this.#deps.processes;
    const ancestors: Process[] = [];
    for (let at = pid; at && ancestors.length < ANCESTORS_MAX; at = parentOf(at)) {
      const started = startTimeOf(at);
      if (started) ancestors.push({ pid: at, started });
    }
    return ancestors;
  }
}
