/** Who calls a tool: what its request proves (contract 6); a name alone proves nothing. */

/** Whoever calls. Without a `peer_id` it is nobody that the mesh knows. */
export interface McpCaller {
  readonly peer_id: string | null;
  readonly name: string;
  /** What told who it is: `process`, `certificate`, an adapter's own word, or `none`. */
  readonly proof: string;
}

/** `meta` is the call's `_meta`, in which some agents name their session. */
export interface Identify {
  (request: Request, meta: unknown): Promise<McpCaller> | McpCaller;
}

interface Known {
  readonly peer_id: string;
  readonly name: string;
}

export interface IdentifyNeeds {
  /** The peer whose agent runs in this process, or in one above it. */
  peerOfProcess(pid: number): Promise<Known | undefined>;
  /** The peer, if the certificate is its own and holds. */
  peerOfCertificate(peer_id: string, certificate: string): Promise<Known | undefined>;
}

/** The identity of an unknown caller; names that begin so are not for peers (contract 2). */
export const NOBODY: McpCaller = { peer_id: null, name: "mcp-http", proof: "none" };

/** Reads the headers that MCP's own doors send: the stdio proxy's pid, or a certificate. */
export function identifyByHeaders(needs: IdentifyNeeds): Identify {
  return async ({ headers }) => {
    const pid = pidOf(headers.get("x-mesh-pid"));
    const running = pid === undefined ? undefined : await needs.peerOfProcess(pid);
    if (running) return toCaller(running, "process");
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
