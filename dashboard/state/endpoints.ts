/** The routes that the dashboard calls, with the types of their contracts. */

import { endpoint } from "kit/http/client.ts";
import type { getFigures, getHealth, listEvents } from "protocol/api/events.ts";
import type { endPage, getPage, redeemTicket } from "protocol/api/pages.ts";
import type { getConfig } from "protocol/api/config.ts";
import type { listSelftests } from "protocol/agents/selftest.ts";
import type * as apps from "protocol/apps.ts";
import type * as asks from "protocol/asks/contract.ts";
import type * as questions from "protocol/asks/questions.ts";
import type { listMachines } from "protocol/machines.ts";
import type * as handoffs from "protocol/handoffs.ts";
import type * as inbox from "protocol/inbox.ts";
import type * as jobs from "protocol/jobs/contract.ts";
import type * as lifecycle from "protocol/lifecycle.ts";
import type { typeIntoPane } from "protocol/panes.ts";
import type * as attachments from "protocol/messages/attachments.ts";
import type * as deliveries from "protocol/messages/contract.ts";
import type { listMessages } from "protocol/messages/log.ts";
import type { notifyPeer } from "protocol/notifications.ts";
import type * as peerRoutes from "protocol/peers/contract.ts";
import type * as subscriptions from "protocol/subscriptions/contract.ts";
import type * as schedules from "protocol/schedules/contract.ts";
import type * as shares from "protocol/shares.ts";
import type * as transcripts from "protocol/transcripts.ts";
import type * as spawn from "protocol/spawn/contract.ts";
import type * as restarts from "protocol/spawn/restarts.ts";
import type * as sessions from "protocol/spawn/sessions.ts";
import type { getMachinePage } from "protocol/relay/dashboard.ts";
import type * as relayApps from "protocol/relay/apps.ts";

export const health = endpoint<typeof getHealth>("GET", "/health");
export const figures = endpoint<typeof getFigures>("GET", "/figures");
export const selftests = endpoint<typeof listSelftests>("GET", "/selftests");
export const eventList = endpoint<typeof listEvents>("GET", "/events");
export const page = endpoint<typeof getPage>("GET", "/dashboard/session");
/** In place of `page`, if a relay serves the page; relative to the machine's address there. */
type MachinePage = Omit<typeof getMachinePage, "path"> & { readonly path: "/dashboard/session" };
export const machinePage = endpoint<MachinePage>("GET", "/dashboard/session");
export const config = endpoint<typeof getConfig>("GET", "/config");
export const signOut = endpoint<typeof endPage>("DELETE", "/dashboard/session");
export const redeem = endpoint<typeof redeemTicket>("POST", "/dashboard/session");

export const machineList = endpoint<typeof listMachines>("GET", "/machines");

export const peers = endpoint<typeof peerRoutes.listPeers>("GET", "/peers");
export const transcript = endpoint<typeof transcripts.readTranscript>(
  "GET",
  "/peers/:id/transcript",
);
export const usage = endpoint<typeof transcripts.getUsage>("GET", "/peers/:id/usage");
export const turns = endpoint<typeof peerRoutes.listTurns>("GET", "/peers/:id/turns");
export const doctor = endpoint<typeof lifecycle.diagnosePeer>("GET", "/peers/:id/doctor");

export const askList = endpoint<typeof asks.listAsks>("GET", "/asks");
export const ask = endpoint<typeof asks.getAsk>("GET", "/asks/:id");
export const openAsk = endpoint<typeof asks.openAsk>("POST", "/ask");
export const cancelAsk = endpoint<typeof asks.cancelAsk>("POST", "/asks/:id/cancel");
export const ackAsk = endpoint<typeof asks.ackAsk>("POST", "/ack");
export const answerAsk = endpoint<typeof questions.answerAsk>("POST", "/answer");
export const declineAsk = endpoint<typeof asks.declineAsk>("POST", "/decline");
export const notify = endpoint<typeof notifyPeer>("POST", "/notify");

export const messages = endpoint<typeof listMessages>("GET", "/messages");
export const trace = endpoint<typeof deliveries.getTrace>("GET", "/traces/:trace_id");
export const deliveryList = endpoint<typeof deliveries.listDeliveries>("GET", "/deliveries");

export const inboxList = endpoint<typeof inbox.listInbox>("GET", "/inbox");
export const inboxRead = endpoint<typeof inbox.readInboxItem>("POST", "/inbox/:id/read");

export const jobList = endpoint<typeof jobs.listJobs>("GET", "/jobs");
export const job = endpoint<typeof jobs.getJob>("GET", "/jobs/:id");
export const createJob = endpoint<typeof jobs.createJob>("POST", "/jobs");
export const JOB_VERBS = {
  run: endpoint<typeof jobs.runJob>("POST", "/jobs/:id/run"),
  retry: endpoint<typeof jobs.retryJob>("POST", "/jobs/:id/retry"),
  pause: endpoint<typeof jobs.pauseJob>("POST", "/jobs/:id/pause"),
  resume: endpoint<typeof jobs.resumeJob>("POST", "/jobs/:id/resume"),
  cancel: endpoint<typeof jobs.cancelJob>("POST", "/jobs/:id/cancel"),
} as const;

export const scheduleList = endpoint<typeof schedules.listSchedules>("GET", "/schedules");
export const createSchedule = endpoint<typeof schedules.createSchedule>("POST", "/schedules");
export const cancelSchedule = endpoint<typeof schedules.cancelSchedule>(
  "DELETE",
  "/schedules/:id",
);

export const subscriptionList = endpoint<typeof subscriptions.listSubscriptions>(
  "GET",
  "/subscriptions",
);
export const cancelSubscription = endpoint<typeof subscriptions.cancelSubscription>(
  "DELETE",
  "/subscriptions/:id",
);

export const shareList = endpoint<typeof shares.listShares>("GET", "/shares");
export const createShare = endpoint<typeof shares.createShare>("POST", "/shares");
export const revokeShare = endpoint<typeof shares.revokeShare>("DELETE", "/shares/:id");

export const appList = endpoint<typeof apps.listApps>("GET", "/apps");
export const revokeApp = endpoint<typeof apps.revokeApp>("DELETE", "/apps/:id");
/** The same at the relay, which also serves the page; relative to the relay's address. */
export const relayAppList = endpoint<typeof relayApps.listApps>("GET", "/api/v1/apps");
export const relayRevokeApp = endpoint<typeof relayApps.revokeApp>("DELETE", "/api/v1/apps/:id");
/** What a person does to a peer. */
export const restartPeer = endpoint<typeof restarts.restartPeer>("POST", "/peers/:id/restart");
export const getPeer = endpoint<typeof peerRoutes.getPeer>("GET", "/peers/:id");
export const cancelRestart = endpoint<typeof restarts.cancelRestart>(
  "DELETE",
  "/peers/:id/restart",
);
export const forkSession = endpoint<typeof sessions.forkSession>("POST", "/peers/:id/fork");
export const handOff = endpoint<typeof handoffs.handOff>("POST", "/handoffs");
export const forkPeer = endpoint<typeof spawn.forkPeer>("POST", "/peers/:id/fork-backend");
export const rehookPeer = endpoint<typeof lifecycle.rehookPeer>("POST", "/peers/:id/rehook");
export const killPeer = endpoint<typeof lifecycle.killPeer>("POST", "/peers/:id/kill");
export const renamePeer = endpoint<typeof peerRoutes.renamePeer>("POST", "/peers/:id/name");
export const closePeer = endpoint<typeof peerRoutes.closePeer>("DELETE", "/peers/:id");
export const pane = endpoint<typeof lifecycle.showPane>("GET", "/peers/:id/pane");
export const typeKeys = endpoint<typeof typeIntoPane>("POST", "/peers/:id/keys");
export const pendingAsks = endpoint<typeof asks.pendingAsks>("GET", "/asks/pending");

export const spawnConfig = endpoint<typeof spawn.spawnConfig>("GET", "/spawn/config");
export const spawnFolders = endpoint<typeof spawn.listFolders>("GET", "/spawn/folders");
export const spawnPeer = endpoint<typeof spawn.spawnPeer>("POST", "/spawn");
export const orphans = endpoint<typeof lifecycle.listOrphans>("GET", "/panes/orphans");
export const linkPane = endpoint<typeof lifecycle.linkPane>("POST", "/panes/:pane_id/link");

export const uploadAttachment = endpoint<typeof attachments.uploadAttachment>(
  "POST",
  "/attachments",
);
export const deleteAttachment = endpoint<typeof attachments.deleteAttachment>(
  "DELETE",
  "/attachments/:id",
);
