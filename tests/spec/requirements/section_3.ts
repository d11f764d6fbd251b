/** Section 3 of the specification: states and transitions. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SECTION_3: readonly Requirement[] = [
  ["3.peer.lose.inbound-only",      "built",    "Provenance with addressable=false makes a live peer inbound-only"],
  ["3.peer.lose.updated",           "built",    "Replacing provenance emits `peer_updated`"],
  ["3.peer.lose.closes-asks",       "built",    "Losing addressability closes open inbound asks as peer_not_addressable"],
  ["3.peer.lose.drops-queue",       "built",    "Losing addressability drops queued deliveries"],
  ["3.peer.lose.tells-askers",      "built",    "Each asker of a peer that loses addressability is told"],
  ["3.peer.lose.one-event",         "built",    "One `peer_not_addressable` event is recorded, with the counts"],
  ["3.peer.inbound-only.ask",       "messages", "An ask to it is 409 before anything is registered or queued"],
  ["3.peer.inbound-only.notify",    "messages", "A notify to it is 409 before anything is registered or queued"],
  ["3.peer.inbound-only.broadcast", "messages", "Broadcasts skip it"],
  ["3.peer.inbound-only.schedule",  "jobs",     "A scheduled ask to it fails the same way"],
  ["3.peer.inbound-only.connect",   "messages", "On connect nothing is replayed to it; queued rows are dropped and recorded"],
  ["3.peer.inbound-only.drain",     "messages", "A drain of it gives nothing, and says dropped_not_addressable"],
  ["3.peer.offline",                "built",    "POST /peers/{id}/offline takes a live peer offline, and records the cause"],
  ["3.peer.terminal.retires",       "built",    "A terminal offline retires the peer"],
  ["3.peer.terminal.severs",        "built",    "A terminal offline severs its socket"],
  ["3.peer.terminal.rejects",       "built",    "A reconnect that claims a retired peer_id is rejected as peer_retired"],
  ["3.peer.terminal.live-pid",      "built",    "A reconnect that carries a live agent_pid gets the retired peer_id back"],
  ["3.peer.delete.removes",         "built",    "DELETE closes and removes a peer"],
  ["3.peer.delete.tombstone",       "built",    "DELETE leaves a tombstone: a running bridge cannot reclaim the identity"],
  ["3.peer.unregister",             "built",    "Unregister drops the registration; the same session may register again"],
  ["3.peer.restart.relaunch",       "built",    "A restart relaunches a live peer with resume"],
  ["3.peer.restart.journal",        "built",    "The stages of a restart are journaled with its restart_id"],
  ["3.peer.restart.ignores-offline", "built",   "An offline of an execution that a restart replaced is ignored"],
  ["3.peer.restart.ignores-in-memory", "built", "What a restart replaced is known in memory only, until the daemon restarts"],

  ["3.ask.reply-push",              "messages", "An ack or reply resolves the ask; in push mode it is injected at the asker"],
  ["3.ask.reply-pull",              "messages", "In pull mode the reply is kept on the ask"],
  ["3.ask.decline-closes",          "messages", "POST /decline closes an unhandled ask as declined"],
  ["3.ask.decline-reason",          "messages", "The reason of a decline is returned to the asker"],
  ["3.ask.not-addressable",         "messages", "An ask whose recipient loses addressability is closed as peer_not_addressable"],
  ["3.ask.first-wait-pulls",        "messages", "The first wait turns an open push ask into pull: the reply is kept on it"],
  ["3.ask.wait-times-out",          "messages", "A wait that times out returns pending, records nothing, and the ask stays open"],

  ["3.inbox.read",                  "messages", "A read item is read for every surface, however often it is read"],
  ["3.inbox.reply-acks",            "messages", "A reply on an open ask acks it with the text"],
  ["3.inbox.reply-answers",         "messages", "A reply on an open structured question answers it"],

  ["3.job.armed",                   "jobs",     "The executor's prompt turn arms the fire"],
  ["3.job.completes",               "jobs",     "The executor's next assistant turn completes the fire; its message is the result_summary"],
  ["3.job.executor-died",           "jobs",     "The executor's death fails fires in flight with executor_died"],
  ["3.job.lease",                   "jobs",     "A runner in its dispatching phase is bounded by a lease"],
  ["3.job.never-reaped",            "jobs",     "A delivered fire is never reaped by a wall clock"],
  ["3.job.state-changed",           "jobs",     "Every state transition emits `job_state_changed`"],
  ["3.job.terminal-tells",          "jobs",     "Terminal states notify the owner, then the creator, then the circle's orchestrator"],
];
