/** The routes that commands call, with the types of their contracts: no command loads a schema. */

import { endpoint } from "kit/http/client.ts";
import type * as callers from "protocol/api/callers.ts";
import type * as ids from "protocol/api/ids.ts";
import type * as pages from "protocol/api/pages.ts";
import type * as asks from "protocol/asks/contract.ts";
import type * as many from "protocol/asks/many.ts";
import type * as questions from "protocol/asks/questions.ts";
import type * as federation from "protocol/machines.ts";
import type * as handoffs from "protocol/handoffs.ts";
import type * as inbox from "protocol/inbox.ts";
import type * as jobs from "protocol/jobs/contract.ts";
import type * as lifecycle from "protocol/lifecycle.ts";
import type * as panes from "protocol/panes.ts";
import type * as messages from "protocol/messages/contract.ts";
import type * as log from "protocol/messages/log.ts";
import type * as notifications from "protocol/notifications.ts";
import type * as peers from "protocol/peers/contract.ts";
import type * as groups from "protocol/peers/groups.ts";
import type * as schedules from "protocol/schedules/contract.ts";
import type * as shares from "protocol/shares.ts";
import type * as subscriptions from "protocol/subscriptions/contract.ts";
import type * as transcripts from "protocol/transcripts.ts";
import type * as spawn from "protocol/spawn/contract.ts";
import type * as sessions from "protocol/spawn/sessions.ts";
import type * as restarts from "protocol/spawn/restarts.ts";

export const completeId = endpoint<typeof ids.completeId>("GET", "/ids/:short");

export const createTicket = endpoint<typeof pages.createTicket>("POST", "/dashboard/tickets");

export const ackAsk = endpoint<typeof asks.ackAsk>("POST", "/ack");
export const declineAsk = endpoint<typeof asks.declineAsk>("POST", "/decline");
export const getAsk = endpoint<typeof asks.getAsk>("GET", "/asks/:id");
export const listAsks = endpoint<typeof asks.listAsks>("GET", "/asks");
export const openAsk = endpoint<typeof asks.openAsk>("POST", "/ask");
export const pendingAsks = endpoint<typeof asks.pendingAsks>("GET", "/asks/pending");
export const waitAsk = endpoint<typeof asks.waitAsk>("POST", "/asks/:id/wait");

export const askMany = endpoint<typeof many.askMany>("POST", "/asks/many");
export const getMany = endpoint<typeof many.getMany>("GET", "/asks/many/:parent_id");

export const answerAsk = endpoint<typeof questions.answerAsk>("POST", "/answer");
export const askBlocking = endpoint<typeof questions.askBlocking>(
  "POST",
  "/questions/ask-blocking",
);

export const forgetMachine = endpoint<typeof federation.forgetMachine>("DELETE", "/machines/:id");
export const listMachines = endpoint<typeof federation.listMachines>("GET", "/machines");

export const switchPeer = endpoint<typeof handoffs.switchPeer>("POST", "/peers/:id/switch");
export const handOff = endpoint<typeof handoffs.handOff>("POST", "/handoffs");

export const getInboxItem = endpoint<typeof inbox.getInboxItem>("GET", "/inbox/:id");
export const listInbox = endpoint<typeof inbox.listInbox>("GET", "/inbox");
export const readInboxItem = endpoint<typeof inbox.readInboxItem>("POST", "/inbox/:id/read");
export const replyInboxItem = endpoint<typeof inbox.replyInboxItem>("POST", "/inbox/:id/reply");

export const cancelJob = endpoint<typeof jobs.cancelJob>("POST", "/jobs/:id/cancel");
export const createJob = endpoint<typeof jobs.createJob>("POST", "/jobs");
export const getJob = endpoint<typeof jobs.getJob>("GET", "/jobs/:id");
export const jobResult = endpoint<typeof jobs.jobResult>("GET", "/jobs/:id/result");
export const listJobs = endpoint<typeof jobs.listJobs>("GET", "/jobs");
export const pauseJob = endpoint<typeof jobs.pauseJob>("POST", "/jobs/:id/pause");
export const resumeJob = endpoint<typeof jobs.resumeJob>("POST", "/jobs/:id/resume");
export const retryJob = endpoint<typeof jobs.retryJob>("POST", "/jobs/:id/retry");
export const runJob = endpoint<typeof jobs.runJob>("POST", "/jobs/:id/run");
export const updateJob = endpoint<typeof jobs.updateJob>("PATCH", "/jobs/:id");

export const diagnosePeer = endpoint<typeof lifecycle.diagnosePeer>("GET", "/peers/:id/doctor");
export const killPeer = endpoint<typeof lifecycle.killPeer>("POST", "/peers/:id/kill");
export const linkPane = endpoint<typeof lifecycle.linkPane>("POST", "/panes/:pane_id/link");
export const listOrphans = endpoint<typeof lifecycle.listOrphans>("GET", "/panes/orphans");
export const prunePeers = endpoint<typeof lifecycle.prunePeers>("POST", "/peers/prune");
export const showPane = endpoint<typeof lifecycle.showPane>("GET", "/peers/:id/pane");
export const rehookPeer = endpoint<typeof lifecycle.rehookPeer>("POST", "/peers/:id/rehook");

export const typeIntoPane = endpoint<typeof panes.typeIntoPane>("POST", "/peers/:id/keys");

export const getTrace = endpoint<typeof messages.getTrace>("GET", "/traces/:trace_id");
export const listDeliveries = endpoint<typeof messages.listDeliveries>("GET", "/deliveries");

export const getMessage = endpoint<typeof log.getMessage>("GET", "/messages/:id");
export const listMessages = endpoint<typeof log.listMessages>("GET", "/messages");

export const broadcast = endpoint<typeof notifications.broadcast>("POST", "/broadcast");
export const notifyPeer = endpoint<typeof notifications.notifyPeer>("POST", "/notify");

export const replyAll = endpoint<typeof notifications.replyAll>("POST", "/asks/:id/reply-all");

export const closePeer = endpoint<typeof peers.closePeer>("DELETE", "/peers/:id");
export const getPeer = endpoint<typeof peers.getPeer>("GET", "/peers/:id");
export const listPeers = endpoint<typeof peers.listPeers>("GET", "/peers");
export const offlinePeer = endpoint<typeof peers.offlinePeer>("POST", "/peers/:id/offline");
export const identifyCaller = endpoint<typeof callers.identifyCaller>(
  "GET",
  "/peers/identity/caller",
);
export const peerByPane = endpoint<typeof peers.peerByPane>("GET", "/peers/by-pane/:pane_id");
export const reportChat = endpoint<typeof peers.reportChat>("POST", "/events/chat");
export const registerPeer = endpoint<typeof peers.registerPeer>("POST", "/peers");
export const renamePeer = endpoint<typeof peers.renamePeer>("POST", "/peers/:id/name");

export const listGroup = endpoint<typeof groups.listGroup>("GET", "/groups/:tag");
export const setPeer = endpoint<typeof groups.setPeer>("PATCH", "/peers/:id");

export const cancelSchedule = endpoint<typeof schedules.cancelSchedule>("DELETE", "/schedules/:id");
export const createSchedule = endpoint<typeof schedules.createSchedule>("POST", "/schedules");
export const editSchedule = endpoint<typeof schedules.editSchedule>("PATCH", "/schedules/:id");
export const getSchedule = endpoint<typeof schedules.getSchedule>("GET", "/schedules/:id");
export const listSchedules = endpoint<typeof schedules.listSchedules>("GET", "/schedules");

export const createShare = endpoint<typeof shares.createShare>("POST", "/shares");
export const listShares = endpoint<typeof shares.listShares>("GET", "/shares");
export const revokeShare = endpoint<typeof shares.revokeShare>("DELETE", "/shares/:id");

export const forkPeer = endpoint<typeof spawn.forkPeer>("POST", "/peers/:id/fork-backend");
export const forkSession = endpoint<typeof sessions.forkSession>("POST", "/peers/:id/fork");
export const listSessions = endpoint<typeof sessions.listSessions>("GET", "/spawn/sessions");
export const resumeSession = endpoint<typeof sessions.resumeSession>("POST", "/spawn/resume");
export const spawnPeer = endpoint<typeof spawn.spawnPeer>("POST", "/spawn");

export const restartPeer = endpoint<typeof restarts.restartPeer>("POST", "/peers/:id/restart");

export const cancelSubscription = endpoint<typeof subscriptions.cancelSubscription>(
  "DELETE",
  "/subscriptions/:id",
);
export const createSubscription = endpoint<typeof subscriptions.createSubscription>(
  "POST",
  "/subscriptions",
);
export const getSubscription = endpoint<typeof subscriptions.getSubscription>(
  "GET",
  "/subscriptions/:id",
);
export const listSubscriptions = endpoint<typeof subscriptions.listSubscriptions>(
  "GET",
  "/subscriptions",
);

export const getUsage = endpoint<typeof transcripts.getUsage>("GET", "/peers/:id/usage");
export const listUsage = endpoint<typeof transcripts.listUsage>("GET", "/usage");
export const readTranscript = endpoint<typeof transcripts.readTranscript>(
  "GET",
  "/peers/:id/transcript",
);
