/** Section 7 of the specification: errors and routing. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
const ERRORS: readonly Requirement[] = [
  ["7.not-addressable.ask",       "messages", "An ask to a peer that takes none: 409 with peer_id, parent_peer_id and hint"],
  ["7.not-addressable.notify",    "messages", "A notify to a peer that takes none: 409 with peer_id, parent_peer_id and hint"],
  ["7.not-addressable.parent",    "messages", "parent_peer_id is null when the parent is not registered"],
  ["7.not-addressable.nothing",   "messages", "Nothing is registered or queued"],
  ["7.peer-retired.http",         "built",    "Reclaiming a retired peer_id without a live agent_pid over HTTP: 409 peer_retired"],
  ["7.peer-retired.ws",           "built",    "Reclaiming a retired peer_id without a live agent_pid on /ws: error peer_retired"],
  ["7.renew.not-connected",       "built",    "Renewing for a peer that is not connected on the same session: 409"],
  ["7.no-target",                 "messages", "An ask without the key under static routing: 400 no_target with a hint"],
  ["7.no-target.nothing",         "messages", "Nothing is registered or recorded of an ask without a target"],
  ["7.service-excluded",          "messages", "fallback_to names a service or the human: 403 service_excluded"],
  ["7.router-unavailable",        "messages", "A routing failure without fallback_to: 503 router_unavailable, nothing registered"],
  ["7.to-peer.blank",             "messages", "A to_peer that is empty, whitespace or null: 404 Unknown peer"],
  ["7.to-peer.look-alike",        "messages", "A key that only resembles to_peer: 400"],
  ["7.no-human",                  "messages", "Any inbox route without a human: 503"],
  ["7.unknown-ref",               "messages", "A reply by a ref that no item was rendered as: 404"],
  ["7.restart",                   "built",    "A restart fails by HTTP only for an unknown or ambiguous peer or missing wiring"],
  ["7.permission-denied",         "messages", "A tool-permission question that is not answered in time is denied"],
  ["7.surface-failed",            "messages", "A surface's failed push is a receipt with status failed and error_class"],
  ["7.dropped-recorded",          "messages", "What is durable for a peer that takes none is dropped and recorded, without an error to it"],
  ["7.executor-died",             "jobs",     "The executor's death during a fire fails it with executor_died"],
  ["7.link-rolled-back",          "built",    "A link without a live transport is rolled back"],
  ["7.relay.offline",             "relay",    "An offline machine is a tool error"],
  ["7.relay.client-expired",      "relay",    "An expired client registration is told to be removed and added again"],
  ["7.relay.refresh-reused",      "relay",    "A consumed refresh token revokes the whole grant"],
  ["7.relay.database",            "relay",    "A failure of the OAuth database fails closed"],
  ["7.relay.old-daemon",          "relay",    "A daemon without ask_pull_delivery gets no task"],
];

// deno-fmt-ignore
const ROUTING: readonly Requirement[] = [
  ["7.routing.static",            "messages", "Under routing.strategy static an ask must name to_peer"],
  ["7.routing.arm-picks",         "messages", "Under an arm, an ask without the key goes to whom the arm picks"],
  ["7.routing.pick-authorized",   "messages", "The pick is authorized like a named target"],
  ["7.routing.fallback",          "messages", "fallback_to is used if the arm fails or its pick is refused"],
  ["7.routing.no-services",       "messages", "A strategy picks no service and no human unless allow_service_targets is set"],
  ["7.routing.absent-only",       "messages", "Only an absent key routes"],
  ["7.routing.any-case",          "messages", "Keys match in any case: TO_PEER names a target"],
  ["7.routing.named",             "messages", "A named ask is never rerouted, and its answer has no routing key"],
  ["7.routing.at-route",          "messages", "@route is an ordinary name"],
];

export const SECTION_7: readonly Requirement[] = [...ERRORS, ...ROUTING];
