/** The routes that the dashboard calls, with the types of their contracts. */

import { endpoint } from "kit/http/client.ts";
import type { getFigures, getHealth, listEvents } from "../../daemon/api/events/contract.ts";
import type { endPage, getPage, redeemTicket } from "../../daemon/api/pages/contract.ts";
import type { getConfig } from "../../daemon/app/contract.ts";
import type { listSelftests } from "../../daemon/features/agents/selftest/contract.ts";
import type * as apps from "../../daemon/features/apps/contract.ts";
import type * as asks from "../../daemon/features/asks/contract.ts";
import type * as questions from "../../daemon/features/asks/questions/contract.ts";
import type { listMachines } from "../../daemon/features/federation/contract.ts";
import type * as handoffs from "../../daemon/features/handoffs/contract.ts";
import type * as inbox from "../../daemon/features/inbox/contract.ts";
import type * as jobs from "../../daemon/features/jobs/contract.ts";
import type * as lifecycle from "../../daemon/features/lifecycle/contract.ts";
import type { typeIntoPane } from "../../daemon/features/lifecycle/panes/contract.ts";
import type * as attachments from "../../daemon/features/messages/attachments/contract.ts";
import type * as deliveries from "../../daemon/features/messages/contract.ts";
import type { listMessages } from "../../daemon/features/messages/log/contract.ts";
import type { notifyPeer } from "../../daemon/features/notifications/contract.ts";
import type * as peerRoutes from "../../daemon/features/peers/contract.ts";
import type * as subscriptions from "../../daemon/features/subscriptions/contract.ts";
import type * as schedules from "../../daemon/features/schedules/contract.ts";
import type * as shares from "../../daemon/features/shares/contract.ts";
import type * as transcripts from "../../daemon/features/transcripts/contract.ts";
import type * as spawn from "../../daemon/features/spawn/contract.ts";
import type * as restarts from "../../daemon/features/spawn/restarts/contract.ts";
import type * as sessions from "../../daemon/features/spawn/sessions/contract.ts";
import type { getMachinePage } from "../../relay/dashboard/contract.ts";
import type * as relayApps from "../../relay/oauth/apps/contract.ts";

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
