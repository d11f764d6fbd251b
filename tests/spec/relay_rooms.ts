/** The relay's tools, keys and shares: specification 4, 5 and 6, and contract 9. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const RELAY_ROOMS: readonly Requirement[] = [
  ["4.relay.tools",            "relay", "The relay has six tools, with exactly these parameters"],
  ["4.relay.list-machines",    "relay", "list_machines gives the connected machines, with exact daemon ids"],
  ["4.relay.list-agents",      "relay", "list_agents gives online, addressable agents and their current work"],
  ["4.relay.ask-agent",        "relay", "ask_agent gives daemon_id, peer_id, request_id and status pending"],
  ["4.relay.send-message",     "relay", "send_message gives the daemon's actual delivery state, queued among them"],
  ["4.relay.get-reply",        "relay", "get_reply leaves the work running; a resolved request may hold a reply, a decline, or a reason alone"],
  ["4.relay.list-requests",    "relay", "list_requests gives the outstanding asks of this app connection"],
  ["4.relay.scopes",           "relay", "Each tool needs its scope; a missing one is 403 insufficient_scope"],
  ["4.relay.challenge",        "relay", "A request without a valid token is 401, with the resource metadata and the scope"],
  ["4.relay.rebinding",        "relay", "A Host other than the issuer's or loopback, or an Origin other than the issuer's, is refused"],
  ["4.relay.rule-1",           "relay", "Targets are the exact peer_id from discovery; display names are not accepted"],
  ["4.relay.rule-2",           "relay", "A machine id never falls back to another connection"],
  ["4.relay.rule-3",           "relay", "Permissions cover all machines of the approved secret"],
  ["4.relay.rule-4",           "relay", "A send that drops may have arrived; nothing is sent again, and every ask is a new task"],
  ["4.relay.rule-5",           "relay", "The tools offer no spawn, kill, shell, file-read, broadcast or approval"],
  ["4.relay.rule-6",           "relay", "Requests follow the daemon's retention, and the tools promise no more"],
  ["4.relay.rule-7",           "relay", "A machine that is offline is a tool error"],
  ["4.relay.rule-8",           "relay", "An older daemon receives no task, and the tool says to update it"],
  ["4.relay.rule-9",           "relay", "Unsolicited agent messages are not pushed into an idle conversation"],
  ["5.relay.mcp-needs-oauth",  "relay", "Remote MCP is disabled where OAuth is not configured"],
  ["5.relay.namespace",        "relay", "The SHA-256 digest of the full secret is its namespace"],
  ["5.relay.browser",          "relay", "Possession of the secret connects the browser"],
  ["5.relay.register-fresh",   "relay", "Key registration always makes a fresh secret, whatever user_id a caller gives"],
  ["5.relay.asker",            "relay", "A new grant has another identity, and cannot retrieve the old one's replies"],
  ["5.relay.revoked",          "relay", "Revocation rejects later requests"],
  ["5.relay.no-token-in-url",  "relay", "Tokens are never placed in the address of the MCP endpoint"],
  ["5.relay.shares-in-memory", "relay", "Share links must be made again after the relay's restart"],
  ["5.relay.no-inbox",         "relay", "Share streams never carry inbox events"],
  ["c9.share.bound",           "relay", "A share is bound to a peer id of a daemon id, and has an end"],
  ["c9.share.stream",          "relay", "A share's stream carries only events that name its peer id"],
  ["c9.share.revoked",         "relay", "Revoking a share ends its open streams"],
  ["c9.share.expiry",          "relay", "A share that is over is refused, and its streams end"],
];
