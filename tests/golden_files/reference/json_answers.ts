/** Output of each command with `--json`: the body of a route, or an object of the command. */

import type { Contract } from "kit/http/contract.ts";
import { getHealth } from "protocol/api/events.ts";
import {
  ackAsk,
  declineAsk,
  getAsk,
  listAsks,
  openAsk,
  pendingAsks,
  waitAsk,
} from "protocol/asks/contract.ts";
import { askMany, getMany } from "protocol/asks/many.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import { forgetMachine, listMachines } from "protocol/machines.ts";
import { handOff, switchPeer } from "protocol/handoffs.ts";
import { listLimits, resumeLimit } from "protocol/limits/contract.ts";
import { listDevices, removeDevice } from "protocol/api/devices.ts";
import { getDigest } from "protocol/messages/digest.ts";
import { recall } from "protocol/asks/recall.ts";
import { blameLines } from "protocol/origins/blame.ts";
import { explainPolicy } from "protocol/origins/policy.ts";
import { listBudgets } from "protocol/budgets/contract.ts";
import { readChanges, readJobChanges } from "protocol/changes.ts";
import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyInboxItem,
  unreadInboxItem,
} from "protocol/inbox.ts";
import {
  acceptReviews,
  commentReview,
  listReviews,
  placeReview,
  readReview,
} from "protocol/reviews/contract.ts";
import { listLeases, takeLease, whoUsesPort } from "protocol/holdings/leases.ts";
import { whoUsesFile } from "protocol/holdings/files.ts";
import { listJointChecks } from "protocol/joint_checks/contract.ts";
import { interruptPeer } from "protocol/interrupts.ts";
import { wakePeer } from "protocol/wakes.ts";
import { listPush, testPush, unsubscribePush } from "protocol/push/contract.ts";
import {
  cancelJob,
  createJob,
  getJob,
  jobResult,
  listJobs,
  pauseJob,
  resumeJob,
  retryJob,
  runJob,
  updateJob,
} from "protocol/jobs/contract.ts";
import {
  killPeer,
  linkPane,
  listOrphans,
  prunePeers,
  rehookPeer,
  showPane,
} from "protocol/lifecycle.ts";
import { typeIntoPane } from "protocol/panes.ts";
import { uploadAttachment } from "protocol/messages/attachments.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import { broadcast, notifyPeer } from "protocol/notifications.ts";
import { closePeer, getPeer, listPeers, renamePeer } from "protocol/peers/contract.ts";
import { setPeer } from "protocol/peers/groups.ts";
import {
  cancelSchedule,
  createSchedule,
  editSchedule,
  getSchedule,
  listSchedules,
} from "protocol/schedules/contract.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "protocol/subscriptions/contract.ts";
import { listUsage, readTranscript } from "protocol/transcripts.ts";
import { createShare, listShares, revokeShare } from "protocol/shares.ts";
import { forkPeer, spawnPeer } from "protocol/spawn/contract.ts";
import { forkSession, listSessions, resumeSession } from "protocol/spawn/sessions.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";

/** The answers of the routes that a command may print, and when. */
type OfRoute = readonly { readonly contract: Contract; readonly when?: string }[];

/** Commands whose answer is the body of a route, unchanged. */
// deno-fmt-ignore
export const ROUTE_ANSWERS: Readonly<Record<string, OfRoute>> = {
  "status":          [{ contract: getHealth }],
  "peers":           [{ contract: listPeers }, { contract: prunePeers, when: "`--prune`" }],
  "ask":             [{ contract: openAsk }, { contract: waitAsk, when: "`--wait`, and `correlation_id` beside it" }],
  "notify":          [{ contract: notifyPeer }],
  "inbox":           [{ contract: listInbox }],
  "inbox list":      [{ contract: listInbox }],
  "inbox show":      [{ contract: getInboxItem }],
  "inbox read":      [{ contract: readInboxItem }],
  "inbox unread":    [{ contract: unreadInboxItem }],
  "inbox reply":     [{ contract: replyInboxItem }],
  "spawn":           [{ contract: spawnPeer }],
  "asks":            [{ contract: pendingAsks }, { contract: listAsks, when: "`--all`, or as no peer" }],
  "show":            [{ contract: getAsk }, { contract: getInboxItem, when: "`inb-…`" }, { contract: getMany, when: "`askm-…`" }, { contract: getMessage, when: "another id" }],
  "ack":             [{ contract: ackAsk }],
  "decline":         [{ contract: declineAsk }],
  "answer":          [{ contract: answerAsk }],
  "ask-many":        [{ contract: askMany }, { contract: getMany, when: "`--wait`" }],
  "broadcast":       [{ contract: broadcast }],
  "upload":          [{ contract: uploadAttachment }],
  "trace":           [{ contract: getTrace }],
  "peer rename":     [{ contract: renamePeer }],
  "tag":             [{ contract: getPeer, }, { contract: setPeer, when: "changes" }],
  "peer set":        [{ contract: setPeer }],
  "peer move":       [{ contract: setPeer }],
  "peer close":      [{ contract: closePeer }],
  "peer kill":       [{ contract: killPeer }],
  "interrupt":       [{ contract: interruptPeer }],
  "wake":            [{ contract: wakePeer }],
  "peer rehook":     [{ contract: rehookPeer }],
  "peer restart":    [{ contract: restartPeer }],
  "peer fork":       [{ contract: forkPeer }],
  "peer switch":     [{ contract: switchPeer }],
  "handoff":         [{ contract: handOff }],
  "fork":            [{ contract: forkSession }],
  "resume":          [{ contract: resumeSession }, { contract: listSessions, when: "`--list`, or not exactly one session matches" }],
  "orphans":         [{ contract: listOrphans }],
  "link":            [{ contract: linkPane }],
  "share":           [{ contract: createShare }],
  "machines":        [{ contract: listMachines }],
  "machines list":   [{ contract: listMachines }],
  "machines forget": [{ contract: forgetMachine }],
  "share list":      [{ contract: listShares }],
  "share revoke":    [{ contract: revokeShare }],
  "jobs":            [{ contract: listJobs }],
  "jobs list":       [{ contract: listJobs }],
  "jobs create":     [{ contract: createJob }],
  "jobs show":       [{ contract: getJob }],
  "jobs status":     [{ contract: getJob }],
  "jobs result":     [{ contract: jobResult }],
  "jobs changes":    [{ contract: readJobChanges }],
  "jobs run":        [{ contract: runJob }],
  "jobs retry":      [{ contract: retryJob }],
  "jobs cancel":     [{ contract: cancelJob }],
  "jobs pause":      [{ contract: pauseJob }],
  "jobs resume":     [{ contract: resumeJob }],
  "jobs update":     [{ contract: updateJob }],
  "screen":          [{ contract: showPane }],
  "transcript":      [{ contract: readTranscript }],
  "changes":         [{ contract: readChanges }],
  "landing":         [{ contract: listJointChecks }],
  "who":             [{ contract: whoUsesFile, when: "a file" }, { contract: whoUsesPort, when: "port" }],
  "lease":           [{ contract: takeLease, when: "held; `null` after `--release` of a lease that nobody holds" }],
  "leases":          [{ contract: listLeases }],
  "review":          [
    { contract: listReviews, when: "without a name" },
    { contract: readReview, when: "with a name, or `--next`" },
    { contract: acceptReviews, when: "with `--accept`" },
    { contract: commentReview, when: "with `--comment` or `--send-back`" },
    { contract: placeReview, when: "with `--in` or `--out`" },
  ],
  "devices":         [{ contract: listDevices }],
  "devices remove":  [{ contract: removeDevice }],
  "push":            [{ contract: listPush }],
  "push test":       [{ contract: testPush }],
  "push remove":     [{ contract: unsubscribePush }],
  "usage":           [{ contract: listUsage }],
  "budgets":         [{ contract: listBudgets }],
  "policy":          [{ contract: explainPolicy }],
  "policy test":     [{ contract: explainPolicy }],
  "blame":           [{ contract: blameLines }],
  "recall":          [{ contract: recall }],
  "digest":          [{ contract: getDigest }],
  "limits":          [{ contract: listLimits }],
  "limits resume":   [{ contract: resumeLimit }],
  "type":            [{ contract: typeIntoPane }],
  "schedule":        [{ contract: listSchedules }],
  "schedule list":   [{ contract: listSchedules }],
  "schedule create": [{ contract: createSchedule }],
  "schedule show":   [{ contract: getSchedule }],
  "schedule edit":   [{ contract: editSchedule }],
  "schedule delete": [{ contract: cancelSchedule }],
  "when":            [{ contract: createSubscription }],
  "when list":       [{ contract: listSubscriptions }],
  "when show":       [{ contract: getSubscription }],
  "when cancel":     [{ contract: cancelSubscription }],
};

/** Commands with an answer of their own, and its fields. `optional:` marks one that may be absent. */
// deno-fmt-ignore
export const OWN_ANSWERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "up":           { started: "false if it ran already", url: "the daemon's address", pid: "its process", log_file: "the path of its log", service: "the file of the service that runs it, or null", service_unused: "why an installed service does not run it, or null" },
  "machines join": { url: "of the bus", name: "this machine's name", daemon_id: "its id", fingerprint: "of its keys", user_key: "the key to be allowed, or null with a credentials file", allow: "the command for the operator, or null", shared_circles: "the circles that are shared", written_to: "the configuration file", bus: "as in `machines`, or null without a restart" },
  "machines leave": { written_to: "the configuration file", was_joined: "boolean", server_pid: "the process of the server that still runs here, or null" },
  "machines invite": { name: "of the machine that is invited", command: "what to run there; it holds a secret", url: "of the bus", is_served_here: "boolean" },
  "machines allow": { machine: "`daemon_id`, `name` and `public_key`", is_running: "whether the server runs, and knows it now" },
  "machines renew-identity": { before: "the daemon id of before", daemon_id: "the new one", name: "this machine's new name, or null where it is in no network", allow: "the command for the operator, or null", bus: "as in `machines`, or null without a restart" },
  "machines refuse": { machine: "`daemon_id`, `name` and `public_key`", is_running: "whether the server runs, and has disconnected it" },
  "down":         { stopped: "the process that has exited, or null", service: "the file of the service that ran it, or null" },
  "restart":      { stopped: "the process that has exited, or null", started: "true", url: "the daemon's address", pid: "the new process", log_file: "the path of its log", service: "the file of the service that runs it, or null", service_unused: "why an installed service does not run it, or null" },
  "setup":        { agents: "for each agent: `agent`, `differences`, `notice`, and `error` if it was left out", token_written_to: "the configuration file, or null", name_written_to: "optional: the configuration file, if your name was written", service: "optional: its file, if it was changed", relay: "optional: what `--relay` joined", warnings: "texts", errors: "texts", dry_run: "boolean", uninstall: "boolean" },
  "open":         { url: "the address, with its ticket", human: "whether what the page sends counts as yours", reason: "optional: why not" },
  "dashboard":    { url: "as `mesh open`", human: "as `mesh open`", reason: "optional: as `mesh open`" },
  "doctor":       { findings: "of each check: `area`, `code`, `severity`, `detail`, `fix`", health: "as `mesh status`, or null", peers: "how many in each status", waiting: "the peers with waiting messages", counts: "how many messages in each state", total: "how many messages, or null", unproved: "how many without proof, or null", unaccounted: "messages in no state" },
  "peer show":    { peer: "the record, as in `GET /peers/{id}`", doctor: "the evidence, as in `GET /peers/{id}/doctor`" },
  "peer kill @tag": { group: "for each peer: `peer_id`, `name`, `killed` (as in `POST /peers/{id}/kill`, or null), and `error` (null, or why not)" },
  "inbox snooze": { ok: "true", until: "when the item is shown again, or null" },
  "wait":         { for: "the condition", id: "of the peer, job or ask", state: "its state at the end", met: "whether the condition holds", interrupted: "whether Ctrl-C ended the wait" },
  "why":          { message: "as in `GET /messages/{id}`", trace: "as in `GET /trace/{trace_id}`", budgets: "that it counts to, as in `GET /budgets`" },
  "search":       { messages: "as in `GET /messages`", next: "null, or where more begin" },
  "attach":       { peer_id: "the peer", name: "its name", pane_id: "its pane", tmux_socket: "its tmux server", command: "the command that shows it" },
  "top":          { peers: "a row for each peer", messages: "how many were sent", queued: "how many wait", unproved: "how many were sent without proof", messages_per_second: "the rate, or null" },
  "config":       { "(key)": "the value of each setting; null if it has none, `[hidden]` for a secret" },
  "config get":   { "(key)": "the value of each setting; null if it has none, `[hidden]` for a secret" },
  "config list":  { "(key)": "the value of each setting; null if it has none, `[hidden]` for a secret" },
  "config set":   { ok: "true", key: "the setting", path: "the file" },
  "config unset": { ok: "true", key: "the setting", path: "the file", was_set: "whether the file had it" },
  "config path":  { path: "the file" },
  "config check": { ok: "true", path: "the file" },
  "token":        { token: "the token, or with `--relay` the secret" },
  "backup":       { file: "the copy", bytes: "its size", attachments: "the folder of the files, or null", files: "how many files" },
  "docs":         { file: "the page, or the document" },
  "uninstall":    { agents: "from whose files mesh was removed", service: "the service's file, or null", daemon_stopped: "its process, or null", purged: "what was removed", kept: "what is still there", then: "the command that removes the program" },
  "restore":      { file: "the backup", daemon_id: "the daemon that it is of", lost_messages: "how many messages are newer than it, or null", replaced: "where the database of before is kept, or null", started: "the daemon's address if it was started again, or null" },
  "update":       { version: "this version", installation: "how it was installed", program: "its path", update: "the command that updates it" },
};
