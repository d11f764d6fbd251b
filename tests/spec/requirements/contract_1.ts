/** Sections 1 and 2 of the contract, on messages: conventions and records. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
const CONVENTIONS: readonly Requirement[] = [
  ["c1.ids",                     "messages", "An id is a prefix and 12 hex digits, drawn again on a collision"],
  ["c1.ids.notify",              "messages", "A notify has one id in answer, frame, queue, receipt and trace"],
  ["c1.empty-body",              "messages", "An empty body is {}, and Content-Type is not required"],
  ["c1.body-size",               "messages", "A JSON body of more than 1 MiB is 413"],
  ["c1.text-size",               "messages", "A text is 1 to 262,144 bytes of UTF-8, else 422"],
  ["c1.timeout-clamped",         "messages", "A timeout that is too long is clamped; a number that is no number is 422"],
  ["c1.error-shape",             "messages", "An error is flat: error, detail, hint and context; /notify repeats the code as reason"],
  ["c1.bad-json",                "messages", "Malformed JSON is 400 bad_json"],
  ["c1.invalid-request",         "messages", "A body that fails its schema is 422 with issues"],
  ["c1.not-found",               "messages", "An unknown route is 404, a wrong method 405 with Allow"],
  ["c1.unknown-peer",            "messages", "unknown_peer says in its detail what was given"],
  ["c1.unknown-keys",            "messages", "Unknown keys of a body are ignored"],
  ["c1.order-of-checks",         "messages", "The checks come in one order, from Host to limits"],
  ["c1.order-of-checks.peers",   "messages", "Oneself is refused before addressability, and limits last"],
  ["c1.names",                   "built",    "Names and circles are 1 to 64 letters, digits, dots, underscores and hyphens"],
  ["c1.name-suffix",             "built",    "A given name is suffixed while a live peer of the circle holds it"],
  ["c1.name-default",            "built",    "Without a name a peer is {folder}-{backend}"],
  ["c1.circle",                  "built",    "The circle is the one given, else tmux's, else default"],
  ["c1.peer-argument",           "messages", "A peer argument is an id, an alias, or a name: in the caller's circle first, then in all, live before offline"],
  ["c1.peer-argument.ambiguous", "messages", "Two matches are 409 ambiguous_peer with candidates"],
  ["c1.peer-argument.retired",   "messages", "A retired peer is found by reads and refused as a target"],
  ["c1.idempotency.replay",      "messages", "A repeat with an Idempotency-Key answers the same ids"],
  ["c1.idempotency.mismatch",    "messages", "The same key with another body is 422 idempotency_mismatch"],
  ["c1.idempotency.in-progress", "messages", "A repeat while the first runs is 409 idempotency_in_progress"],
  ["c1.traceparent",             "messages", "Every message carries a traceparent from header to frame, made where absent"],
];

// deno-fmt-ignore
const RECORDS: readonly Requirement[] = [
  ["c2.peer.fields",             "built",    "A peer's record has every field, null when unknown"],
  ["c2.peer.restart",            "built",    "After a start every live peer is offline until evidence; its queue is kept"],
  ["c2.peer.unseen",             "built",    "A peer that nothing reaches goes offline 10 minutes after its last sign of life"],
  ["c2.peer.description",        "built",    "A description older than 15 minutes is cleared when read"],
  ["c2.human.one",               "messages", "There is at most one human"],
  ["c2.human.aliases",           "messages", "The aliases cannot be taken as peer names"],
  ["c2.human.door",              "messages", "A message is the human's only through a proven human door"],
  ["c2.human.unverified",        "messages", "from_peer of the human through another door is delivered as unverified"],
  ["c2.ask.durable",             "messages", "Open asks and replies survive a restart or kill -9"],
  ["c2.ask.evicted",             "messages", "Open asks are evicted after 24 h and the asker is told; those to the human are not"],
  ["c2.ask.retired",             "messages", "The end of a recipient closes its asks peer_retired, drops its queue, tells each asker"],
  ["c2.ask.choice",              "messages", "An answer to a choice names one of its options"],
  ["c2.answer.first",            "messages", "The first valid answer wins; a later one is 410 already_closed"],
  ["c2.attachment.unknown",      "messages", "An unknown attachment in a request is 422 unknown_attachment"],
  ["c2.attachment.limits",       "messages", "Attachments are 25 MB a file, 1 GB in all, kept 7 days"],
  ["c2.attachment.download",     "messages", "Attachments are served with nosniff, as a download"],
  ["c2.delivery.steps",          "messages", "A delivery goes queued, attempting, sent, accepted, seen, or ends with a reason"],
  ["c2.delivery.queue-ttl",      "messages", "A queue keeps 24 h; an ask's delivery lives as long as the ask"],
  ["c2.delivery.queue-full",     "messages", "At the limit a new ask or notify is refused, never an older one dropped"],
  ["c2.delivery.outside-limit",  "messages", "Replies, notices and inbox items are outside of that limit"],
  ["c2.delivery.order",          "messages", "Order per sender and recipient is kept"],
  ["c2.event.no-text",           "messages", "No event carries a message's text"],
  ["c2.event.delivery-live",     "messages", "`delivery` is live only: no id, not stored"],
  ["c2.trace.stages",            "messages", "A trace has the stages of a message, numbered, failures by name"],
];

export const CONTRACT_1: readonly Requirement[] = [...CONVENTIONS, ...RECORDS];
