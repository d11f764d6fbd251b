/** Remote clients of a storm: their calls, and what each was told. */

import { DaemonClient } from "../../../relay/daemons/daemon_client.ts";
import { toToolError } from "../../../relay/mcp/tool.ts";
import { TOOLS } from "../../../relay/mcp/mcp.ts";
import type { RelayWorld } from "../../support/relay/relay_world.ts";

/** A client: an app with its own asker identity, or a browser. It belongs to one account. */
export interface RemoteClient {
  readonly namespace: string;
  readonly asker: string;
}

/** Outcome of a call to a machine, as its caller knows it. */
export type Outcome =
  | { readonly state: "open" | "unknown" }
  | { readonly state: "accepted"; readonly id: string }
  | { readonly state: "not_delivered"; readonly why: string };

/** A message that a client has sent, once or with a key several times. */
export interface SentMessage {
  readonly client: RemoteClient;
  readonly daemon_id: string;
  readonly peer_id: string;
  readonly text: string;
  /** The idempotency key; a message without one is sent once. */
  readonly key?: string;
  outcome: Outcome;
}

export type ToolAnswer =
  | { readonly data: Readonly<Record<string, unknown>> }
  | { readonly error: string; readonly may_have_been_delivered: boolean };

/** Calls a tool of remote MCP, with the errors that an app gets. */
export async function callTool(
  { relay }: RelayWorld,
  { namespace, asker }: RemoteClient,
  { tool, args, signal }: { tool: string; args: unknown; signal: AbortSignal },
): Promise<ToolAnswer> {
  const { machines } = relay;
  const clients: DaemonClient[] = [];
  const context = {
    machines: () => machines.list(namespace),
    daemon(daemon_id: string) {
      const client = new DaemonClient({ machines, namespace, daemon_id, asker, signal });
      clients.push(client);
      return client;
    },
  };
  try {
    const result = await TOOLS.find(({ listing }) => listing.name === tool)?.run(args, context);
    return { data: result?.structuredContent as Record<string, unknown> };
  } catch (thrown) {
    const refusal = toToolError(thrown, clients.some(({ hasSent }) => hasSent));
    if (refusal) return refusal;
    if (signal.aborted) return { error: "aborted", may_have_been_delivered: true };
    throw thrown;
  }
}

/** Sends a message with a key from a page of the relay. */
export async function notifyFromBrowser(
  world: RelayWorld,
  { client: { namespace }, daemon_id, peer_id, text, key }: SentMessage,
  signal: AbortSignal,
): Promise<Outcome> {
  world.sessions.set(`browser=${namespace}`, namespace);
  const headers = {
    "cookie": `browser=${namespace}`,
    "sec-fetch-site": "same-origin",
    "content-type": "application/json",
    ...(key !== undefined && { "idempotency-key": key }),
  };
  const body = JSON.stringify({ from_peer: "visitor", to_peer: peer_id, text });
  try {
    const init = { method: "POST", headers, body, signal };
    const response = await world.fetch(`/m/${daemon_id}/notify`, init);
    const answer = await response.json();
    if (response.status === 200) return { state: "accepted", id: answer.delivery_id };
    const isSafe = answer.may_have_been_delivered === false || answer.error === "storage_failed";
    return isSafe ? { state: "not_delivered", why: answer.error } : { state: "unknown" };
  } catch {
    return { state: "unknown" }; // The connection was lost in the answer.
  }
}
