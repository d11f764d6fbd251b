/** The table of problems. Each code has an HTTP status, a sentence, a hint and fields. */

import * as z from "zod";
import { COMMON_PROBLEMS, problem, Refusal } from "kit/core/problem.ts";

const text = z.string();
const number = z.number();
const flag = z.boolean();
const id = text;
const Candidate = z.object({ peer_id: id, name: text, circle: text });

// deno-fmt-ignore
export const PROBLEMS = {
  ...COMMON_PROBLEMS,
  // Refusals of the guard (contract 10).
  forbidden_host:       problem(403, `Host not allowed: "{host}"`, "use the address that the daemon prints, or add the name to daemon.allowed_hosts", { host: text }),
  forbidden_origin:     problem(403, `Origin not allowed: "{origin}"`, "send requests from the dashboard or from a program, not from another page", { origin: text }),
  unauthorized:         problem(401, "Missing or wrong token", "send Authorization: Bearer with the value of daemon.auth_token"),
  loopback_only:        problem(403, "This endpoint accepts requests from this machine only"),
  // Refusals of malformed requests (contract 1).
  idempotency_mismatch: problem(422, `The key "{idempotency_key}" was used with another body before`, "use a new Idempotency-Key for a different request", { idempotency_key: text }),
  idempotency_in_progress: problem(409, `The first request with the key "{idempotency_key}" is still running`, "try again when it is answered", { idempotency_key: text }),
  oauth_disabled:       problem(404, "Remote MCP is off: this relay has no OAuth issuer", "set RELAY_OAUTH_ISSUER and RELAY_OAUTH_DB"),
  // Peers.
  unknown_peer:         problem(404, "Unknown peer: {peer}", "list the peers with `mesh peers`", { peer: text }),
  ambiguous_peer:       problem(409, `"{peer}" matches more than one peer`, "use the peer_id, or name the circle", { peer: text, candidates: z.array(Candidate) }),
  peer_elsewhere:       problem(409, "{peer} runs on {machine}", "do it there, or from here with `mesh --machine {machine} …` if that machine allows it", { peer: text, peer_id: id, machine: text, daemon_id: id }),
  peers_full:           problem(429, "{peers} peers are {kind} on this machine, and no more are accepted", "end some that you do not need, or close offline ones with `mesh peers --prune`", { peers: number, kind: z.enum(["live", "known"]) }),
  no_tagged_peer:       problem(404, "No other peer here has the tag {tag}", "see the tags with `mesh peers`; give a peer one with `mesh tag PEER +{tag}`", { tag: text }),
  group_too_large:      problem(422, "{group} stands for {peers} peers, more than {peers_max}", "name one circle, or fewer peers", { group: text, peers: number, peers_max: number }),
  too_many_tags:        problem(422, "{peer} would have {tags} tags, more than {tags_max}", "remove some: `mesh tag PEER -TAG`", { peer: text, tags: number, tags_max: number }),
  unknown_machine_name: problem(404, "Unknown machine: {machine}", "list the machines with `mesh machines`", { machine: text }),
  machine_unreachable:  problem(503, "{machine} cannot be reached: {reason}", "see `mesh machines`; nothing sends this request again by itself", { machine: text, reason: text, may_have_been_delivered: flag }),
  home_unreachable:     problem(503, "Your inbox is on {machine}, which cannot be reached: {reason}", "answer it on {machine} itself; `mesh inbox --here` shows what this machine has", { machine: text, reason: text, may_have_been_delivered: flag }),
  machine_not_yours:    problem(403, "{machine} does not let {caller} administer it", "if both machines are yours, add {caller} to mesh.bus.allow_admin on {machine}", { machine: text, caller: text }),
  call_too_large:       problem(413, "The {part} is larger than {bytes_max} bytes, the limit of a call to another machine", "run it on that machine itself", { part: text, bytes_max: number }),
  not_from_elsewhere:   problem(403, "{method} {path} is not available from another machine", "call it on that machine itself", { method: text, path: text }),
  unknown_id:           problem(404, `No id begins with "{short}"`, "give a prefix and at least 4 digits, such as ask-3f9c, or the whole id", { short: text }),
  ambiguous_id:         problem(409, `More than one id begins with "{short}"`, "give more digits", { short: text, matches: z.array(z.object({ id, label: text })) }),
  peer_retired:         problem(409, "{peer_id} is retired", "register again, without this peer_id", { peer_id: id }),
  peer_not_addressable: problem(409, "{peer_id} does not receive messages", "it only sends; {summary}", { peer_id: id, parent_peer_id: id.nullable(), summary: text }),
  to_self:              problem(422, "{peer_id} cannot be its own recipient", "", { peer_id: id }),
  identity_not_proven:  problem(409, "It is not proven that you are {peer_id}", "send its birth_certificate, or its agent_pid from that process", { peer_id: id }),
  not_your_identity:    problem(403, "You are not {peer}, and only that peer acts in its name", "leave from_peer out or name yourself (the tool whoami shows who you are); a program that was registered sends its birth_certificate in the header X-Mesh-Certificate", { peer: text, peer_id: id }),
  budget_of_other_name: problem(403, "{peer} works under a budget, and in another name this would not count to it", "send it in the name of {peer}: leave from_peer out, or register the program that sends it", { peer: text, peer_id: id }),
  human_exists:         problem(409, "A human is registered already: {peer_id}", "a daemon serves one human", { peer_id: id }),
  reserved_name:        problem(422, `"{name}" is reserved`, "choose another name; reserved are mesh, daemon, system, human, user, you, dashboard, telegram, mcp-…, the human's name, and names that look like one of them", { name: text }),
  human_not_proven:     problem(403, "It is not proven that a person sends this", "run it in a terminal that you opened yourself and that runs no agent, or on the page that `mesh open` opens there"),
  arguments_not_proven: problem(403, "Only a person may add arguments to an agent's command, and it is not proven that a person sends this", "run it in a terminal that you opened yourself and that runs no agent; a script names a profile of spawn.profiles, which has the arguments: --profile NAME", {}, "human_not_proven"),
  ticket_refused:       problem(403, "The ticket is unknown, was used before, or has expired", "run `mesh open` again"),
  too_many_codes:       problem(503, "Too many codes wait at this relay", "try again in five minutes"),
  paired_elsewhere:     problem(409, "This browser is paired with another machine of the same id", "delete the cookies of this site, if you are sure that this is your machine"),
  code_refused:         problem(403, "The code is unknown, was used before, or has expired", "create another one with `mesh open --phone`, or in Settings"),
  too_many_codes_tried: problem(429, "Too many wrong codes were tried", "wait {retry_after_seconds} s, and then create a new code", { retry_after_seconds: number }),
  device_not_paired:    problem(401, "This device is not paired, or its session has ended", "pair it again with `mesh open --phone`"),
  not_for_devices:      problem(403, "{method} {path} is not available to a paired device", "do it on the machine itself; some routes need relay.allow_admin", { method: text, path: text }),
  unknown_device:       problem(404, "Unknown device: {device_id}", "list them with `mesh devices`", { device_id: text }),
  push_address_refused: problem(422, "Pushes cannot be sent to this address: {reason}", "use the endpoint that the browser's push service gave", { reason: text }),
  push_keys_refused:    problem(422, "These are no keys of a push subscription", "use the keys p256dh and auth of the browser's subscription"),
  too_many_push_subscriptions: problem(409, "{subscriptions} devices get pushes already", "remove one in Settings or with `mesh push remove`", { subscriptions: number }),
  lease_held:           problem(409, "{lease} is held by {holder}", "wait for it with --wait, or ask {holder}; see `mesh leases`", { lease: text, holder: text, pid: number.nullable() }),
  lease_needs_name:     problem(422, "A port needs a name", "give one, such as `mesh lease port web`"),
  lease_holder_not_proven: problem(403, "It is not proven for which process the lease is", "name a running process as pid; an agent names itself or a process that it started", { pid: number.nullable() }),
  no_free_port:         problem(409, "No port from {first} to {last} is free", "end leases that nobody needs (`mesh leases`), or set leases.ports", { first: number, last: number }),
  too_many_leases:      problem(429, "{leases} leases are held, and no more are accepted", "end those that nobody needs: `mesh leases`", { leases: number }),
  unknown_lease:        problem(404, "Unknown lease: {lease_id}", "list them with `mesh leases`", { lease_id: id }),
  not_your_lease:       problem(403, "The lease belongs to {holder}", "ask its holder to end it; a person may end it in a terminal", { holder: text }),
  unknown_push_subscription: problem(404, "Unknown push subscription: {subscription_id}", "list them with `mesh push`", { subscription_id: text }),
  unknown_push:         problem(404, "Unknown push, or another token than that of the push"),
  no_pane_peer:         problem(404, "No peer is registered on pane {pane_id}", "", { pane_id: text }),
  certificate_mismatch: problem(409, "The birth certificate does not match: {reason}", "register again", { reason: text }),
  no_runtime_session:   problem(409, "The birth certificate of {peer_id} names no runtime session", "register with a runtime_session_id", { peer_id: id }),
  not_connected:        problem(409, "{peer_id} is not connected in the session that the certificate names", "connect first, or register again", { peer_id: id }),
  unknown_pane:         problem(404, "No such pane: {pane_id}", "list panes with `mesh orphans`; if several tmux servers have a pane of this id, name the tmux_socket", { pane_id: text }),
  already_linked:       problem(409, "{pane_id} is already linked to {peer_id}", "", { pane_id: text, peer_id: id }),
  other_host:           problem(409, "{peer_id} runs on another machine: {machine}", "ask the daemon of that machine", { peer_id: id, machine: text }),
  missing_pane:         problem(409, "No pane of {peer_id} was found", "register the peer from inside its pane, or link the pane with `mesh link`", { peer_id: id }),
  pane_unverified:      problem(409, "It is not proven that {peer_id} runs in {pane_id}: {reason}", "see `mesh peer show`; link the pane again with `mesh link`", { peer_id: id, pane_id: text, reason: text }),
  typing_off:           problem(403, "Typing into panes is off", "run `mesh config set panes.allow_typing true`, then restart the daemon"),
  transcripts_off:      problem(403, "Reading transcripts is off", "run `mesh config set transcripts human`, then restart the daemon"),
  not_your_transcript:  problem(403, "You may not read the transcript of {peer}: {reason}", "ask it for what you need; with transcripts: peers, agents read those of their own circle", { peer: text, reason: text }),
  not_your_files:       problem(403, "You may not ask who uses {path}", "an agent asks about files in the repository of its own folder", { path: text }),
  not_your_changes:     problem(403, "You may not read what changed in the folder of {of}: {reason}", "ask it for what you need; with transcripts: peers, agents read those of their own circle", { of: text, reason: text }),
  changes_elsewhere:    problem(502, "{machine} does not show what changed there: {reason}", "name this machine in mesh.bus.allow_admin there, or run `mesh changes` there", { machine: text, reason: text }),
  unknown_review:       problem(404, `No changes to review are known as "{review}"`, "list them with `mesh review --all`; a peer needs a folder in a git repository with changes", { review: text }),
  diff_changed:         problem(409, "The changes of {review} are others now", "read them again, then decide", { review: text }),
  reviews_elsewhere:    problem(502, "{machine} does not show or take reviews: {reason}", "name this machine in mesh.bus.allow_admin there, or run `mesh review` there", { machine: text, reason: text }),
  no_such_line:         problem(422, "{file} has no line {line} that can be read", "take a number from the diff; a removed line has a number of the side old", { file: text, line: number }),
  line_changed:         problem(409, "Line {line} of {file} is another line now", "read the changes again, and comment on the line as it is", { file: text, line: number }),
  unknown_changed_file: problem(404, `No changed file has the name "{file}"`, "name it as the list of changed files does", { file: text }),
  no_transcript:        problem(409, "{peer} has no transcript to read: {reason}", "", { peer: text, reason: text }),
  not_typed:            problem(409, "Nothing was typed to {peer_id}: {why}", "", { peer_id: id, reason: text, why: text }),
  typing_unclear:       problem(502, "It is not known whether all of it was typed to {peer_id}: {why}", "look at its screen before you type it again", { peer_id: id, reason: text, why: text }),
  kill_refused:         problem(409, "{peer_id} was not killed: {reason}", "only a process that is proven to be the peer's can be killed; `mesh peer close` removes the record only", { peer_id: id, reason: text }),
  interrupt_not_allowed: problem(403, "Only a person, or the orchestrator of its circle, interrupts {peer}", "run it in a terminal that you opened yourself; an orchestrator is proved by its process or its certificate", { peer: text, peer_id: id }),
  interrupt_in_progress: problem(409, "{peer} is being interrupted already", "wait for the result of the first request, a few seconds", { peer: text, peer_id: id }),
  interrupt_refused:    problem(409, "{peer} was not interrupted: {why}", "look at its terminal; `mesh peer kill {peer}` ends it", { peer: text, peer_id: id, reason: text, why: text }),
  orchestrator_present: problem(409, "{name} is the orchestrator of this circle and is live", "ask it, or set force", { peer_id: id, name: text }),
  role_fixed:           problem(409, "{peer_id} is the human, who cannot be renamed, taken offline or closed", "change human.name in the configuration", { peer_id: id }),
  unknown_caller:       problem(403, "The calling peer is not proven, and only a peer may do this", "call from an agent that is registered, or set daemon.mcp.allow_admin_tools"),
  unknown_agent:        problem(404, `Unknown agent: "{agent}"; no hooks exist for it`, "see `mesh setup --help`", { agent: text }),
  not_an_agent:         problem(403, "Only a registered agent can do this: {why}", "the tool whoami shows who you are", { why: text }),
  // Asks.
  no_target:            problem(400, "The ask names no recipient", "name one in to_peer, or have one chosen: `mesh config set routing.strategy least_busy`, then `mesh restart`"),
  unknown_key:          problem(400, `"{key}" is not a key of this request`, `did you mean "{meant}"?`, { key: text, meant: text }),
  repeated_key:         problem(400, `The key "{key}" is repeated: upper and lower case are the same`, "send it once", { key: text }, "unknown_key"),
  service_excluded:     problem(403, `"{peer}" is a {role}, and no routing strategy delivers to one`, "name another fallback_to, or set routing.allow_service_targets", { peer: text, role: text }),
  router_unavailable:   problem(503, "The routing strategy {arm} found no recipient: {reason}", "name a recipient in to_peer, or a fallback in fallback_to", { arm: text, reason: text }),
  stored_then_failed:   problem(503, "{stored}, but the database failed afterwards", "look at it with `mesh show {id}` before you send it again", { id, stored: text }),
  unknown_ask:          problem(404, "Unknown ask: {correlation_id}", "list them with `mesh asks`", { correlation_id: id }),
  ask_not_here:         problem(404, "Unknown ask: {correlation_id}", "your inbox is on {machine}: reply with `mesh inbox reply`, or use `mesh --machine {machine} …`; `mesh asks` lists those of this machine", { correlation_id: id, machine: text }, "unknown_ask"),
  prove_person:         problem(422, "{peer} is a person: there is no folder in which an answer could be checked", "leave out prove", { peer: text }),
  prove_from_machine:   problem(403, "Nothing is checked for an ask from {machine}", "leave out prove, or name {machine} in mesh.bus.allow_prove of the recipient's machine", { machine: text }),
  prove_from_relay:     problem(403, "Nothing is checked for a request through the relay", "leave out prove and claims, or set relay.allow_admin on the machine"),
  prove_question:       problem(422, "The answer to a structured question cannot be checked", "leave out prove, or ask without options"),
  answer_in_proof:      problem(409, "The answer to {correlation_id} is being checked", "wait for the result: an answer that is refuted comes back to you as a message", { correlation_id: id }),
  answer_checked_first: problem(409, "The answer to {correlation_id} is checked first, and cannot go to others before", "answer its asker alone, without --all", { correlation_id: id }),
  claims_elsewhere:     problem(422, "{correlation_id} was asked on another machine, without any check, so no verified claim is sent there", "answer without claims", { correlation_id: id }),
  already_closed:       problem(410, "{correlation_id} is closed: {close_reason}, {outcome}", "send a new ask with reply_to; a reply to an inbox item needs as_new_ask for that", { correlation_id: id, close_reason: text, outcome: text }),
  not_the_recipient:    problem(403, "{correlation_id} is addressed to another peer", "", { correlation_id: id }),
  not_the_asker:        problem(403, "{correlation_id} was sent by another peer", "", { correlation_id: id }),
  unknown_option:       problem(422, `"{option}" is not an option`, "choose one of: {options}", { option: text, options: text }),
  not_a_question:       problem(422, "{correlation_id} is a plain ask, not a structured question", "reply with ack, or decline it", { correlation_id: id }),
  correlation_taken:    problem(409, "{correlation_id} is the id of another ask", "use a new correlation_id, or send none", { correlation_id: id }),
  // Delivery.
  queue_full:           problem(429, "{peer_id} has {waiting} messages waiting", "try again when it has received some", { peer_id: id, waiting: number }),
  rate_limited:         problem(429, "More than {limit} messages a minute to {peer_id}", "wait, or put more into one message", { peer_id: id, limit: number, retry_after_seconds: number }),
  hop_limit:            problem(429, "{reply_to} is the last of a chain of {limit} asks, which is the limit without the human", "ask the human, or send an ask without reply_to", { reply_to: id, limit: number }),
  budget_spent:         problem(429, "The budget {budget_id} of {subject} is {state}: {used}, by {by}", "replies and messages to the human still pass; a person allows more in the inbox, or begins new work", { budget_id: id, subject: text, state: text, used: text, by: text, question_id: id.nullable() }),
  policy_denied:        problem(403, "The rule {rule} denies {verb}{to} to this chain, which began with: {origin}", "a person can do it, or change `policy` in the configuration; see `mesh policy`", { rule: id, verb: text, to: text, origin: text, root: id }),
  unknown_act:          problem(422, `"{act}" is not an act of a rule`, "did you mean {meant}? Acts: {allowed}", { act: text, allowed: text, meant: text }),
  budget_needs_prices:  problem(422, "A budget in {currency} needs prices in {currency}; configured: {configured}", "set usage.prices, or give tokens, turns or a time", { currency: text, configured: text }),
  unknown_trace:        problem(404, "Unknown trace: {trace_id}", "use a correlation_id or a delivery_id", { trace_id: id }),
  unknown_message:      problem(404, "Unknown message: {id}", "", { id }),
  unknown_drain:        problem(404, "Unknown drain: {drain_id}", "it was settled before, or its 60 s have passed", { drain_id: id }),
  // Attachments.
  unknown_attachment:   problem(422, "Unknown attachment: {attachment}", "upload it with `mesh upload FILE`; files are kept for some days only", { attachment: id }),
  attachment_not_found: problem(404, "Unknown attachment: {attachment}", "files are kept for some days only", { attachment: id }, "unknown_attachment"),
  attachment_in_use:    problem(409, "{attachment} is carried by {messages} messages that are not delivered or answered yet, such as {message}", "delete it when they are, or cancel the asks", { attachment: id, messages: number, message: id }),
  attachment_lost:      problem(410, "The file of {attachment} is no longer on the disk", "upload it again", { attachment: id }),
  attachment_too_large: problem(413, "The file is larger than {bytes_max} bytes", "send it in parts, or send its path", { bytes_max: number }),
  attachments_full:     problem(507, "Attachments may use {bytes_max} bytes in total, and this one exceeds that", "delete some, or wait until they expire", { bytes_max: number }),
  too_many_uploads:     problem(429, "{uploads} uploads are in progress", "try again when one has finished", { uploads: number }),
  unsupported_media:    problem(415, `The media type is "{found}", and this route accepts {media}`, "send the file with: curl -F file=@PATH", { found: text, media: text }),
  bad_multipart:        problem(400, "The body is not multipart/form-data: {reason}", "", { reason: text }),
  // Spawning.
  spawn_disabled:       problem(503, "Agents cannot be started: {lacking}", "install tmux, or restart the daemon with a PATH that has it; for commands and folders see spawn.commands and spawn.allowed_paths in the configuration", { lacking: text }),
  unsupported_backend:  problem(422, "No command is configured for {backend}", "set one in spawn.commands.{backend}", { backend: text }),
  unknown_profile:      problem(422, `No profile "{profile}" for {backend}`, "see spawn.profiles, or mesh spawn --help", { profile: text, backend: text }),
  path_not_allowed:     problem(403, `Agents may not be started in "{path}": {reason}`, "add a folder to spawn.allowed_paths", { path: text, reason: text }),
  source_pane_required: problem(422, "Here a circle is a tmux window, and no pane says which one", "send source_pane; `mesh spawn` sends the pane that it runs in"),
  spawn_failed:         problem(502, "The agent was not started: {reason}", "", { reason: text }),
  same_backend:         problem(409, "The peer runs on {backend} already", "spawn another peer, or name another backend", { backend: text }),
  cannot_fork:          problem(409, "{peer} cannot be copied with its conversation: {reason}", "hand its work over instead: `mesh handoff TO --from {peer}`; `mesh peer fork {peer} --backend …` starts a sibling that knows nothing of it", { peer: text, peer_id: id, reason: text }),
  not_your_work:        problem(403, "It is not proven that you are {peer}, and only a person hands over the work of another", "an agent hands its own work over, with the tool hand_off or from its own shell", { peer: text }),
  unknown_session:      problem(404, "The files of {backend} have no session {session_id}", "list the sessions with `mesh resume --list`", { backend: text, session_id: text }),
  session_running:      problem(409, "The session {session_id} runs already: {holder}", "send it a message, or end it first", { session_id: text, holder: text, peer_id: id.nullable() }),
  cannot_resume:        problem(409, "The session {session_id} cannot be resumed: {reason}", "", { session_id: text, reason: text }),
  not_resumable:        problem(409, "{peer} cannot be woken: {why}", "start an agent in its folder: `mesh spawn PATH --backend BACKEND`", { peer: text, peer_id: id, reason: text, why: text }),
  no_restart:           problem(404, "{peer_id} was never restarted", "", { peer_id: id }),
  unknown_spawn:        problem(404, "Unknown spawn: {spawn_id}", "", { spawn_id: id }),
  // Jobs.
  unknown_job:          problem(404, "Unknown job: {job_id}", "list them with `mesh jobs list`", { job_id: id }),
  unknown_check:        problem(422, `No check "{check}" is configured`, "add it to jobs.checks; allowed now: {allowed}", { check: text, allowed: text }),
  attempt_id_required:  problem(400, "An attempt of {job_id} is running, and only that attempt may end the job", "send the attempt_id from the job's message; `mesh jobs show {job_id}` shows it too", { job_id: id }),
  stale_attempt:        problem(409, "{attempt_id} is not the running attempt of {job_id}", "its work is not lost, but another attempt has taken over, or none is left", { job_id: id, attempt_id: id }),
  illegal_state:        problem(409, "Cannot {action} {job_id}: {summary}", "see `mesh jobs show {job_id}`", { job_id: id, state: text, action: text, summary: text }),
  // Schedules.
  unknown_schedule:     problem(404, "Unknown schedule: {schedule_id}", "list them with `mesh schedule list`", { schedule_id: id }),
  schedule_settled:     problem(409, "{schedule_id} is {state}, and only an active one can be changed", "create a new schedule", { schedule_id: id, state: text }, "illegal_state"),
  schedules_full:       problem(429, "{active_max} scheduled messages are active", "cancel some with `mesh schedule delete`", { active_max: number }),
  // Subscriptions.
  unknown_subscription: problem(404, "Unknown subscription: {subscription_id}", "list them with `mesh when list`", { subscription_id: id }),
  subscription_settled: problem(409, "{subscription_id} is {state}, and only an active one can be cancelled", "", { subscription_id: id, state: text }, "illegal_state"),
  subscriptions_full:   problem(429, "{active_max} subscriptions of {whose} are active", "cancel some with `mesh when cancel`", { whose: text, active_max: number }),
  // Limits of accounts.
  peer_limited:         problem(409, "The account of {peer} is at a limit, and another peer of the tag was asked", "`mesh limits` says until when; `mesh ask {peer}` asks it then", { peer: text, peer_id: id }),
  unknown_limit:        problem(404, "No account is known as {account}", "list them with `mesh limits`", { account: text }),
  // The human inbox.
  no_human:             problem(503, "No human is registered", "set a name with `mesh config set human.name YOU`, then restart the daemon"),
  unknown_item:         problem(404, "Unknown inbox item: {item_id}", "", { item_id: id }),
  unknown_surface_ref:  problem(404, `The surface "{surface}" has no message "{surface_ref}" that shows an inbox item`, "reply to a message that shows one", { surface: text, surface_ref: text }),
  // Refusals of the relay (contract 9).
  not_through_relay:    problem(403, "{method} {path} is not available through a relay", "call it on that machine itself", { method: text, path: text }),
  relay_admin_off:      problem(403, "{method} {path} is available through a relay only if its daemon allows it", "set relay.allow_admin on that machine", { method: text, path: text }),
  no_relay_secret:      problem(401, "Missing or malformed relay secret", "send Authorization: Bearer with the secret that `mesh setup --relay` wrote", {}, "unauthorized"),
  foreign_page:         problem(403, `Not sent by a page of this relay: "{origin}"`, "use a page of this relay", { origin: text }),
  not_for_embedding:    problem(403, `A machine's response cannot be used as "{used_as}"`, "read it with fetch, or open it as a download", { used_as: text }),
  not_signed_in:        problem(401, "Nobody is signed in", "sign in to the relay with its secret"),
  too_many_daemons:     problem(503, "{daemons} daemons are connected, and no more are accepted", "try again later", { daemons: number }),
  unknown_machine:      problem(404, "Unknown machine under this secret: {daemon_id}", "list the machines with GET /api/v1/daemons, and use the exact id", { daemon_id: id, may_have_been_delivered: flag }),
  machine_offline:      problem(503, "{daemon_id} is not connected: {reason}", "see `mesh status` on that machine; the relay does not send the request again", { daemon_id: id, reason: text, may_have_been_delivered: flag }),
  timed_out:            problem(504, "{daemon_id} did not answer within {timeout_ms} ms", "it may still be working; the relay does not send the request again", { daemon_id: id, timeout_ms: number, may_have_been_delivered: flag }),
  malformed_host:       problem(400, `The request names no valid host: "{host}"`, "send the host name of the relay", { host: text }),
  foreign_host:         problem(403, `Host not allowed: "{host}"`, "use the address that RELAY_OAUTH_ISSUER names", { host: text }, "forbidden_host"),
  wrong_form_token:     problem(403, "The form does not belong to this session", "load the page again, and send the form from there", {}, "forbidden_origin"),
  unknown_share:        problem(404, "There is no such share, or it has ended", "ask its owner for a new link"),
  share_read_only:      problem(403, "This share is read-only", "ask its owner for a link that may write"),
  too_many_shares:      problem(429, "There are {shares} shares already", "revoke one: `mesh share list`, `mesh share revoke ID`", { shares: number }),
  too_many_viewers:     problem(503, "{viewers} viewers are connected already", "try again when one has left", { viewers: number }),
  unknown_request:      problem(404, "Unknown request id", "list the requests of this connection with list_requests"),
  daemon_too_old:       problem(409, "{daemon_id} runs version {version}, which cannot keep replies to be fetched; nothing was sent", "update the mesh on that machine", { daemon_id: id, version: text }),
  unknown_app:          problem(404, "There is no such app, or its access has ended", "list the apps again"),
  relay_disabled:       problem(503, "No relay is configured", "connect this machine with `mesh setup --relay URL`"),
  relay_unreachable:    problem(502, "The relay cannot be reached: {reason}", "see `mesh status`", { reason: text }),
  relay_refused:        problem(502, "The relay refused: {reason}", "", { reason: text }),
  bad_daemon_answer:    problem(502, "{daemon_id} returned an invalid response", "update its daemon, or this relay", { daemon_id: id }),
} as const;

export type ProblemCode = keyof typeof PROBLEMS;
export type ProblemFields<C extends ProblemCode> = z.input<(typeof PROBLEMS)[C]["fields"]>;

/** A problem of this table, to be thrown. */
export class Problem<C extends ProblemCode = ProblemCode> extends Refusal<C, ProblemFields<C>> {
  constructor(code: C, fields: ProblemFields<C>, cause?: unknown) {
    super(PROBLEMS[code], code, fields, cause);
  }
}

/** The code that callers see. */
export function toPublicCode(code: string): string {
  return isCode(code) && PROBLEMS[code].publicCode || code;
}

function isCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** True if an error is the problem with this code, from this table or from the common one. */
export function isProblem<C extends ProblemCode>(
  error: unknown,
  code: C,
): error is Refusal<C, ProblemFields<C>> {
  return error instanceof Refusal && error.code === code;
}

/**
 * If the error is a problem, returns it, for a caller that can go on after a refusal. Undefined for
 * any other error, and for `storage_failed`, after which nothing can go on; the caller must rethrow
 * those.
 */
export function recoverableProblem(error: unknown): Refusal<ProblemCode> | undefined {
  return isRefusal(error) && error.code !== "storage_failed" ? error : undefined;
}

function isRefusal(error: unknown): error is Refusal<ProblemCode> {
  return error instanceof Refusal && isCode(error.code);
}
