/** Sections 3 to 5 of the contract, on messages: routes, the socket, and framing. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
const ROUTES: readonly Requirement[] = [
  ["c3.openapi",                 "messages", "/openapi.json and /docs describe every route"],
  ["c3.ask.unregistered",        "messages", "An unregistered sender is allowed and kept by its name"],
  ["c3.ask.offline",             "messages", "An ask to an offline peer is 200 and queued"],
  ["c3.asks.list",               "messages", "GET /asks lists by state and peer, page by page"],
  ["c3.asks.cancel",             "messages", "Only the asker cancels an ask, or the proven human in their own name"],
  ["c3.ack.recipient",           "messages", "Only the recipient acks: another is 403"],
  ["c3.ack.closed",              "messages", "A closed ask takes a bare ack, and is 410 for any other"],
  ["c3.decline.blank",           "messages", "A decline with a blank reason is 422"],
  ["c3.wait.default",            "messages", "A wait is 45 s by default, and at most 50"],
  ["c3.wait.both-modes",         "messages", "The reply is kept on the ask in both modes; pull stays pull"],
  ["c3.answer.plain",            "messages", "An answer to a plain ask is 422 not_a_question"],
  ["c3.history.one-of",          "messages", "GET /asks/history takes exactly one of pane_id and peer_id, else 422"],
  ["c3.query.status",            "messages", "A query's status is answered, acked, declined, timed_out, offline or closed"],
  ["c3.many",                    "messages", "An ask to many has a parent, and children that end each for itself"],
  ["c3.broadcast.circle",        "messages", "A broadcast goes to the sender's circle, never to the human"],
  ["c3.messages.search",         "messages", "GET /messages searches and pages through everything said"],
  ["c3.drain.lease",             "messages", "Drained rows without a receipt are pending again after 60 s, under the same ids"],
  ["c3.deliveries.count",        "messages", "GET /deliveries is the conservation count"],
  ["c3.inbox.limit",             "messages", "`limit` is 50 by default, 1 to 500, else 422"],
  ["c3.inbox.reply-closed",      "messages", "A reply on a closed ask asks anew, with reply_to"],
  ["c3.events.log",              "messages", "GET /events pages through the log by since and type"],
  ["c3.stream.ready",            "messages", "A stream begins with ready {last}"],
  ["c3.stream.resume",           "messages", "A stream resumes from Last-Event-ID or since; an id that is no number is ignored"],
  ["c3.stream.gap",              "messages", "A place that is no longer kept is told as gap {oldest}"],
  ["c3.stream.quiet",            "messages", "A comment comes every 15 s"],
  ["c3.stream.too-slow",         "messages", "A reader that is too slow gets too_slow and is cut off"],
];

// deno-fmt-ignore
const SOCKET: readonly Requirement[] = [
  ["c4.greeting",                "messages", "A connect is answered with connected"],
  ["c4.not-connect",             "messages", "A first frame that is not connect closes with 4000"],
  ["c4.token",                   "messages", "A bad token closes with 4001"],
  ["c4.bad-field",               "messages", "A bad field closes with 4002"],
  ["c4.client-id",               "messages", "A client that keeps its metadata.client_id is the same peer when it connects again"],
  ["c4.identity",                "messages", "A live peer_id is claimed with its certificate or process, else 4003"],
  ["c4.bad-frames",              "messages", "A malformed frame is answered with error; 20 a minute close with 4008"],
  ["c4.superseded",              "messages", "A newer connection closes the older with 4009"],
  ["c4.pings",                   "messages", "Pings come every 20 s; two unanswered close with 4010"],
  ["c4.too-slow",                "messages", "A reader that takes nothing is closed with 4013"],
  ["c4.frames",                  "messages", "Frames have exactly the contract's fields"],
  ["c4.frame-size",              "messages", "A frame has at most 1 MiB"],
  ["c4.verbs",                   "messages", "The verbs on a socket are answered by result with their request_id"],
  ["c4.replay",                  "messages", "Undelivered rows are replayed on connect, oldest first"],
  ["c4.receipts",                "messages", "A row leaves the queue when its receipt, or without receipts its write, is in"],
  ["c4.refs",                    "messages", "Refs compare as decimal numbers of any length"],
  ["c4.surface.catch-up",        "messages", "A surface gets on connect what was pending or failed in the last 24 h"],
];

// deno-fmt-ignore
const FRAMING: readonly Requirement[] = [
  ["c5.human",                   "messages", "The human's message is an instruction: [mesh] @sam → @peer: text"],
  ["c5.peer",                    "messages", "A peer's message is escaped between tags that it cannot forge or close"],
  ["c5.hint",                    "messages", "An ask ends with one line under 200 characters that says how to answer"],
  ["c5.controls",                "messages", "What is typed begins with [mesh], without controls; tabs are spaces"],
  ["c5.long",                    "messages", "Over 8 kB a pane gets the head, the id and mesh show ID"],
];

/** Limits of messages, from section 8. */
// deno-fmt-ignore
const LIMITS: readonly Requirement[] = [
  ["c8.limits.hops",             "messages", "A chain of more than daemon.limits.hops without a human in it is 429 hop_limit"],
  ["c8.limits.pair",             "messages", "More than daemon.limits.pair_per_minute is 429 rate_limited with Retry-After"],
  ["c8.telegram",                "messages", "surfaces.telegram renders the human's items in a chat, and sends replies back"],
];

/** Lifecycle of peers, from sections 2, 3 and 6. */
// deno-fmt-ignore
const LIVES: readonly Requirement[] = [
  ["c2.peer.evidence",           "built",    "Status and turn are evidence with a source and an age, which the doctor shows"],
  ["c2.peer.takeover",           "built",    "A new registration on a pane takes it: who had it goes offline as pane_takeover"],
  ["c2.event.contradiction",     "built",    "`peer_contradiction` is told once for each new one"],
  ["c3.peer.kill",               "built",    "Kill ends only a process that it can prove to be the peer's, and retires the peer"],
  ["c3.peer.role",               "built",    "A fresh orchestrator is never displaced without force"],
  ["c3.peer.link",               "built",    "POST /peers/{id}/link does the same for the peer's recorded pane"],
  ["c3.pane.owner",              "built",    "Nothing enters a pane that is not the registered agent's"],
  ["c6.unknown-caller",          "built",    "An unknown caller kills nobody unless the configuration allows it"],
];

/** Jobs, from sections 2, 3, 6, 7 and 8. */
// deno-fmt-ignore
const JOBS: readonly Requirement[] = [
  ["c2.job.expires",             "jobs",     "`expires_at` ends only what has not been delivered"],
  ["c2.job.deadline",            "jobs",     "`deadline_at` ends no delivered fire: state_reason says so, and the owner is told once"],
  ["c2.job.attempt-id",          "jobs",     "A terminal update while an attempt runs needs its attempt_id: 400, or 409 for another"],
  ["c2.job.terminal",            "jobs",     "A job that has come to rest is not updated"],
  ["c2.job.hold-open",           "jobs",     "Any phase other than turn_started holds the fire open"],
  ["c2.job.checks",              "jobs",     "Checks that the configuration names are run; one that fails makes the job failed"],
  ["c2.job.released",            "jobs",     "An executor of one fire is ended after it; persistent and assigned ones never are"],
  ["c2.template.missed",         "jobs",     "Missed fires collapse into one"],
  ["c2.template.once",           "jobs",     "A fire happens once across restarts"],
  ["c3.jobs.create",             "jobs",     "A job has a prompt or a title, and one target: else 422"],
  ["c3.jobs.run-retry",          "jobs",     "Run and retry begin only from the states that the contract names"],
  ["c3.jobs.pause",              "jobs",     "A template is paused, and resumed from then on"],
  ["c3.jobs.once",               "jobs",     "A repeated POST /jobs with its Idempotency-Key is the same job"],
  ["c6.jobs",                    "jobs",     "Agents hand out, see, update and call off jobs with tools"],
  ["c7.jobs",                    "jobs",     "mesh jobs does the same, in tables that fit the terminal"],
];

export const CONTRACT_3: readonly Requirement[] = [
  ...ROUTES,
  ...SOCKET,
  ...FRAMING,
  ...LIMITS,
  ...LIVES,
  ...JOBS,
];
