/** Section 4 of the specification, on the daemon: its endpoints. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
const PEERS: readonly Requirement[] = [
  ["4.health.status-routes",        "built",    "GET /health has status routes beside it"],
  ["4.health.pull-capability",      "messages", "GET /health advertises capabilities.ask_pull_delivery"],
  ["4.peers.list",                  "built",    "GET /peers without filters is the complete inventory"],
  ["4.peers.list-source",           "built",    "GET /peers?source= filters by source"],
  ["4.peers.list-addressable",      "built",    "GET /peers?addressable= filters by addressability"],
  ["4.peers.list-listed",           "built",    "GET /peers?listed=true: addressable, not system, parent live if any"],
  ["4.peers.register",              "built",    "POST /peers registers a peer, with provenance if given"],
  ["4.peers.get",                   "built",    "GET /peers/{id} is the peer"],
  ["4.peers.get-restart",           "built",    "GET /peers/{id} has a restart block"],
  ["4.peers.delete",                "built",    "DELETE /peers/{name-or-id} is the operator's close"],
  ["4.peers.unregister",            "built",    "POST /peer/unregister drops a registration, not terminally"],
  ["4.peers.provenance",            "built",    "POST /peers/{id}/provenance replaces the provenance of a live peer"],
  ["4.peers.offline-cause",         "built",    "POST /peers/{id}/offline takes reason, source, detail, terminal, pane_id and agent_pid"],
  ["4.peers.offline-empty",         "built",    "An empty body is a plain offline"],
  ["4.peers.doctor",                "built",    "GET /peers/{id}/doctor is a read-only report that finds contradictions"],
  ["4.peers.rehook",                "built",    "POST /peers/{id}/rehook recovers inbound without harm: same host, dry run by default"],
  ["4.peers.restart",               "built",    "POST /peers/{id}/restart is always 200 with a typed result"],
  ["4.peers.restart-error",         "built",    "A restart is an HTTP error only for an unknown or ambiguous peer or missing wiring"],
  ["4.peers.restart-last",          "built",    "GET /peers/{id}/restart is the latest result"],
  ["4.peers.restart-cancel",        "built",    "DELETE /peers/{id}/restart cancels one in flight"],
  ["4.peers.restart-redacts",       "built",    "Commands in results and the journal redact every value but those that are known"],
  ["4.peers.fork",                  "built",    "Fork starts a sibling on another backend; the source stays live"],
  ["4.peers.validate",              "built",    "Validate checks a birth certificate and rehydrates its peer"],
  ["4.peers.renew",                 "built",    "Renew exchanges a matching certificate, only while its peer is connected on that session"],
  ["4.panes.orphans",               "built",    "GET /panes/orphans lists local panes bound to no peer, with a hint"],
  ["4.panes.link",                  "built",    "Link registers a peer and its hook, and rolls back when nothing live connects"],
];

// deno-fmt-ignore
const ASKS: readonly Requirement[] = [
  ["4.ask.to-peer",                 "messages", "POST /ask asks `to_peer`"],
  ["4.ask.fallback-to",             "messages", "POST /ask takes an optional `fallback_to`"],
  ["4.ask.reply-delivery",          "messages", "POST /ask takes `reply_delivery`: push by default, or pull"],
  ["4.ask.origin",                  "messages", "POST /ask takes an optional `origin` {surface, ref}"],
  ["4.ask.inbox",                   "messages", "An ask to the human answers inbox {item_id, surfaces}"],
  ["4.ask.routing",                 "messages", "A routed ask answers routing: arm, routed_to, confidence, fallback and why"],
  ["4.ack",                         "messages", "POST /ack acknowledges or answers an ask"],
  ["4.decline",                     "messages", "POST /decline closes an unhandled ask with close_reason=declined"],
  ["4.asks.pending",                "messages", "GET /asks/pending lists a peer's outstanding asks by direction"],
  ["4.asks.pending-unregistered",   "messages", "A caller without a registered peer can list its outstanding asks"],
  ["4.asks.history",                "messages", "GET /asks/history lists closed threads of a peer, as asker or recipient, after `since`"],
  ["4.asks.history-pane",           "messages", "GET /asks/history takes pane_id= or peer_id="],
  ["4.asks.history-durable",        "messages", "GET /asks/history reads the durable ledger"],
  ["4.asks.history-session",        "messages", "GET /asks/history returns the peer's mesh_session_id"],
  ["4.asks.wait-blocks",            "messages", "A wait blocks until the ask is answered or acked"],
  ["4.asks.wait-resolution",        "messages", "A wait returns status, reply, outcome and close_reason"],
  ["4.asks.wait-pending",           "messages", "A wait whose time is up returns {status: pending}"],
  ["4.asks.wait-sender",            "messages", "A wait requires the original sender's identity"],
  ["4.answer",                      "messages", "POST /answer records a typed answer to a structured question"],
  ["4.ask-blocking.holds",          "messages", "POST /questions/ask-blocking holds the connection until answered or the cap elapses"],
  ["4.ask-blocking.answer",         "messages", "POST /questions/ask-blocking returns the typed answer"],
  ["4.ask-blocking.denied",         "messages", "A tool-permission question is denied on timeout"],
  ["4.query",                       "messages", "POST /query opens a text ask, waits for its end, and returns {text, error, status}"],
  ["4.notify",                      "messages", "POST /notify tells a peer; no reply is required"],
  ["4.notify.inbox",                "messages", "A notify to the human answers inbox_item_id and surfaces"],
  ["4.traces.ask",                  "messages", "GET /traces/{correlation_id} has an ask's recorded stages"],
  ["4.traces.notify",               "messages", "GET /traces/{delivery_id} has a notify's recorded stages"],
  ["4.deliveries.pending",          "messages", "GET /deliveries/pending has the durable deliveries that wait, for the addressable"],
];

// deno-fmt-ignore
const INBOX: readonly Requirement[] = [
  ["4.inbox.list",                  "messages", "GET /inbox is {human, human_peer_id, items}, newest first"],
  ["4.inbox.unread",                "messages", "GET /inbox?unread=1 has what is unread"],
  ["4.inbox.limit",                 "messages", "GET /inbox?limit=N has at most N"],
  ["4.inbox.surface",               "messages", "With surface=S, only what was pushed to S, newest rendered first, by numeric ref"],
  ["4.inbox.through-ref",           "messages", "With through_ref=N, only items whose first message on S is at or below N"],
  ["4.inbox.get",                   "messages", "GET /inbox/{id} is one item"],
  ["4.inbox.read",                  "messages", "POST /inbox/{id}/read takes {surface}"],
  ["4.inbox.reply-acked",           "messages", "A reply on an open ask acks it with text: acked"],
  ["4.inbox.reply-answered",        "messages", "A reply on an open structured question answers it: answered"],
  ["4.inbox.reply-asked",           "messages", "Any other reply opens a new ask from the human to the item's sender: asked"],
  ["4.inbox.reply-empty",           "messages", "An empty text on a non-ask only marks it read: read"],
  ["4.inbox.reply-by-ref",          "messages", "POST /inbox/reply finds the item by {surface, surface_ref}"],
  ["4.inbox.reply-by-ref-unknown",  "messages", "POST /inbox/reply is 404 when no item was rendered as that ref"],
  ["4.inbox.aliases",               "messages", "The human is addressed by its name or two fixed surface aliases"],
  ["4.inbox.no-human",              "messages", "All inbox routes are 503 when no human is registered"],
  ["4.surface.connects",            "messages", "A surface connects with capabilities [inbox_surface]"],
  ["4.surface.pushed-to",           "messages", "The daemon pushes {type: inbox_item, delivery_id, item, reply_to_ref}"],
  ["4.surface.receipt",             "messages", "The surface's receipt is pushed, with surface_ref and surface_refs"],
  ["4.surface.failure",             "messages", "The surface's receipt is failed, with error_class, and lists what was sent"],
  ["4.surface.bridge",              "messages", "A bridge without the capability gets the item as a plain notify or ask frame"],
  ["4.surface.bridge-unverified",   "messages", "A bridge's push proves only the socket write: verified is false"],
];

// deno-fmt-ignore
const OTHER: readonly Requirement[] = [
  ["4.jobs.create",                 "jobs",      "POST /jobs accepts process_scope and continuity"],
  ["4.jobs.list",                   "jobs",      "GET /jobs is {work, recurring}"],
  ["4.jobs.summary",                "jobs",      "GET /jobs?view=summary omits requests, provenance, runner state, prompts and history"],
  ["4.jobs.status",                 "jobs",      "GET /jobs/{id}/status is the detail of a job or a template"],
  ["4.jobs.patch",                  "jobs",      "PATCH /jobs/{id} enriches progress and holds a fire open"],
  ["4.schedules",                   "jobs",      "Schedules are one-shot and recurring messages"],
  ["4.spawn",                       "built",     "POST /spawn creates a tmux-backed peer"],
  ["4.spawn.seed",                  "built",     "A spawn's message is a notify once the peer registers; the answer has its seed_state"],
  ["4.spawn.config",                "built",     "GET /spawn/config says what may be spawned, where, and the circle_boundary"],
  ["4.messages",                    "messages",  "/messages shows what was said"],
  ["4.ws",                          "messages",  "/ws delivers live"],
  ["4.attachments.upload",          "messages",  "/attachments takes uploads"],
  ["4.attachments.download",        "messages",  "/attachments gives downloads"],
  ["4.dashboard",                   "dashboard", "GET /dashboard is the static bundle"],
  ["4.events.stream",               "messages",  "GET /events/stream is the event stream"],
  ["4.events.dashboard",            "messages",  "surface=dashboard marks a stream as the dashboard surface"],
];

// deno-fmt-ignore
const TRANSCRIPTS: readonly Requirement[] = [
  ["4.transcript.read",    "messages", "What an agent recorded of its session is read from the end, in pages: prompts, texts, tool calls and results"],
  ["4.transcript.readers", "messages", "A proved human reads by default, agents of the same circle only if set so, nobody if it is off"],
  ["4.transcript.remote",  "messages", "Nothing of a transcript passes the relay or goes to another machine"],
  ["4.transcript.masked",  "messages", "Secrets are masked before anything is shown, searched or shortened"],
  ["4.changes.read",       "messages", "What changed in a peer's or a job's folder since its branch began is read with git's status and diff, in pages"],
  ["4.changes.readers",    "messages", "A proved human reads what changed, and agents that may read the peer's transcript, in allowed folders"],
  ["4.changes.hostile",    "messages", "No program that a repository names runs, nothing in it is written, and nothing outside of the folder is read"],
  ["4.changes.masked",     "messages", "Changes show no secrets in known forms, and no hidden characters"],
  ["4.changes.bounded",    "messages", "Reading changes has limits on time, memory and size, and says what it left out"],
  ["4.changes.remote",     "messages", "Changes pass the relay only with relay.allow_admin, and reach other machines only for their administrators' person"],
  ["4.transcript.bounds",  "messages", "A read is bounded in bytes, entries and characters"],
  ["4.transcript.missing", "messages", "A peer without a readable session is refused with the reason"],
  ["4.transcript.usage",   "messages", "Tokens and context are counted where the agent records them, and null elsewhere"],
  ["4.transcript.cli",     "messages", "`mesh transcript` shows and follows a session, `mesh usage` its tokens"],
  ["4.transcript.tool",    "messages", "Agents read with the tool read_transcript"],
];

// deno-fmt-ignore
const USAGE: readonly Requirement[] = [
  ["4.usage.report",       "messages", "GET /usage?by= sums tokens by day, agent, model, job or chain of messages"],
  ["4.usage.once",         "messages", "A request is counted once, and stays counted when its file is gone"],
  ["4.usage.chain",        "messages", "A request counts for the message that its agent had read last"],
  ["4.usage.caused",       "messages", "What a message causes belongs to its chain"],
  ["4.usage.job",          "messages", "What a job's executor uses, and causes, counts for the job"],
  ["4.usage.prices",       "messages", "Money is by the dated table of the configuration; tokens without a price are counted"],
  ["4.usage.unrecorded",   "messages", "A kind of tokens that is not recorded is null, and a sum that lacks some is incomplete"],
  ["4.usage.readers",      "messages", "An agent sees its own tokens, and why others are left out"],
  ["4.usage.cli",          "messages", "`mesh usage --by` shows the sums, the money, and what they leave out"],
];

export const SECTION_4: readonly Requirement[] = [
  ...PEERS,
  ...ASKS,
  ...INBOX,
  ...OTHER,
  ...TRANSCRIPTS,
  ...USAGE,
];
