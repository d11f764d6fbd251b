/** Section 2 of the specification: resources and their fields. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SECTION_2: readonly Requirement[] = [
  ["2.peer.model",                 "built",    "`model` is the last runtime model that the backend reported"],
  ["2.peer.source",                "built",    "`source` is hook, backend-app-server or unknown, flat in the record"],
  ["2.peer.source-inferred",       "built",    "Only an unknown source is inferred from metadata.transport and hook_version"],
  ["2.peer.initiator",             "built",    "`initiator` is user, agent or system, and may be absent"],
  ["2.peer.parent-runtime-id",     "built",    "`parent_runtime_id` is provenance"],
  ["2.peer.parent-peer-id",        "built",    "`parent_peer_id` is resolved at read time, null when the parent is not registered"],
  ["2.peer.ephemeral",             "built",    "`ephemeral` is provenance"],
  ["2.peer.addressable",           "built",    "When `addressable` is false the peer is inbound-only"],
  ["2.peer.addressable-reason",    "built",    "`addressable_reason` says why addressability is what it is"],
  ["2.peer.id-immutable",          "built",    "`peer_id` is an immutable identifier"],
  ["2.peer.name-or-id",            "built",    "Routes accept a name or an id, and resolve it to the peer_id"],
  ["2.peer.role",                  "built",    "`role` may be service or human"],
  ["2.peer.restart-block",         "built",    "GET /peers/{id} has a restart block: a preview and the last result"],
  ["2.peer.provenance-given",      "built",    "POST /peers takes provenance as a fresh classification"],
  ["2.peer.provenance-kept",       "built",    "Omitting provenance keeps what the daemon knows"],

  ["2.ask.correlation-id",         "messages", "`correlation_id` identifies the ask"],
  ["2.ask.status",                 "messages", "`status` is pending when a wait times out, and resolved otherwise"],
  ["2.ask.reply",                  "messages", "`reply` is the reply's text, kept on the ask in pull mode"],
  ["2.ask.outcome",                "messages", "`outcome` is part of the resolution"],
  ["2.ask.close-reason",           "messages", "`close_reason` is, e.g., declined or peer_not_addressable"],
  ["2.ask.reply-delivery",         "messages", "`reply_delivery` is push by default, or pull"],
  ["2.ask.origin",                 "messages", "`origin` {surface, ref} is optional on an ask of the human's"],
  ["2.notify.delivery-id",         "messages", "A notify is identified by its `delivery_id`"],

  ["2.inbox.item-id",              "messages", "An item's id is `item_id` in events, `inbox_item_id` in the answer of a notify"],
  ["2.inbox.event-fields",         "messages", "kind, from, from_peer_id and correlation_id are in the `inbox_item` event"],
  ["2.inbox.flags",                "messages", "`read` and `replied` are flags of an item"],
  ["2.inbox.pushes",               "messages", "`pushes` has surface, status and surface_ref for each surface"],
  ["2.inbox.surface-refs",         "messages", "surface_ref is the first message rendered, surface_refs every one"],
  ["2.inbox.text",                 "messages", "The item is read from GET /inbox"],

  ["2.job.process-scope",          "jobs",     "`process_scope` is per_fire by default for path and backend jobs that are not assigned"],
  ["2.job.continuity",             "jobs",     "`continuity` is fresh or resume: fresh for one-shot jobs, resume for recurring ones"],
  ["2.job.result-summary",         "jobs",     "`result_summary` is the final message of the executor's completing turn"],
  ["2.job.fields",                 "jobs",     "A job shows ids, state, times, owners, target; heavier fields stay out of summaries"],
  ["2.job.template-id",            "jobs",     "Recurring templates have ids that begin with cal-"],

  ["2.relay.request",              "relay",    "A relay request has daemon_id, peer_id, request_id and status"],
  ["2.relay.client",               "relay",    "An OAuth client is public, with exact HTTPS redirect URIs"],
  ["2.relay.grant",                "relay",    "A grant has a scope, an asker identity and a lifetime of 30 days"],
];
