/** What each setting does, for its page. A setting without a row does not compile. */

import type { SETTINGS } from "../../../daemon/app/config.ts";

export type Key = keyof typeof SETTINGS;

// deno-fmt-ignore
export const MEANINGS: Readonly<Record<Key, string>> = {
  "daemon.host": "The address to listen on. Any address that is not loopback needs `daemon.auth_token`.",
  "daemon.port": "The port to listen on.",
  "daemon.auth_token": "The token that callers must send. `mesh setup` adds one, `mesh token` prints it.",
  "daemon.allowed_hosts": "Host names, besides loopback ones, under which the daemon may be called.",
  "daemon.description_ttl_seconds": "How long a peer's description of its work is valid.",
  "daemon.ask_ttl_hours": "How long an ask stays open. Then it is closed, and the asker is told.",
  "daemon.history_days": "How long messages and events are kept after they ended.",
  "daemon.history_messages": "How many ended messages are kept at most.",
  "daemon.queue.ttl_seconds": "How long a message waits for its recipient before it expires.",
  "daemon.queue.max_per_peer": "How many messages may wait for one peer. More are refused with `queue_full`.",
  "daemon.limits.hops": "How many asks in a row may follow up one another (`reply_to`) without the human.",
  "daemon.limits.pair_per_minute": "How many messages one sender may send one recipient in a minute.",
  "daemon.attachments.file_bytes_max": "The largest attachment.",
  "daemon.attachments.total_bytes_max": "The size of all attachments together.",
  "daemon.attachments.ttl_days": "How long an attachment is kept.",
  "daemon.circle_boundary": "Which agents in tmux share a circle: those of a session, of a window, or all of this machine.",
  "daemon.mcp.enabled": "Whether the daemon serves MCP at `/mcp`.",
  "daemon.mcp.allow_admin_tools": "Whether MCP callers that are no registered agents may start, restart and end agents.",
  "human.name": "Your name as a peer. Without it there is no inbox.",
  "routing.strategy": "How the recipient of an ask without `to_peer` is chosen; see [routing.md](../routing.md).",
  "routing.min_confidence": "The least confidence with which a strategy may choose.",
  "routing.allow_service_targets": "Whether a strategy may choose services and the human.",
  "routing.webhook": "The endpoint of the strategy `webhook`.",
  "spawn.commands": "The command that starts each backend. Nothing else is ever started. See [jobs.md](../jobs.md#start-agents).",
  "spawn.profiles": "Named additions to a command: arguments and environment variables.",
  "spawn.allowed_paths": "The folders in which agents may be started and checks may run.",
  "spawn.env": "Environment variables of every started agent.",
  "panes.allow_typing": "Whether you may type into an agent's pane from the dashboard; see [security.md](../security.md#the-dashboard).",
  "jobs.checks": "Programs that a job may name as its checks; see [jobs.md](../jobs.md#checks).",
  "approvals.gated_tools": "Tools whose permission is also asked of you in the inbox; see [approvals.md](../approvals.md).",
  "approvals.timeout_seconds": "How long such a question waits. Then the tool is denied.",
  "relay.enabled": "Whether the daemon connects to a relay.",
  "relay.url": "The relay's address; `mesh setup --relay URL` writes it.",
  "relay.secret": "The secret that machines of one person share; `mesh token --relay` prints it.",
  "relay.allow_admin": "Whether agents may be started, restarted and ended through the relay.",
  "surfaces.telegram.token": "The token of your bot; see [inbox.md](../inbox.md#telegram).",
  "surfaces.telegram.chat_id": "The chat that shows your inbox.",
  "telemetry.otlp": "The OpenTelemetry collector that gets traces, such as `http://127.0.0.1:4318`; see [observability.md](../observability.md#traces).",
  "telemetry.headers": "Headers for the collector, such as `authorization=Bearer …`.",
  "telemetry.sample": "The part of all traces that is recorded, 0 to 1.",
};
