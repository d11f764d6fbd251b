/** The records that the dashboard shows, as they arrive: instants are text. */

import type * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import type * as wire from "protocol/wire.ts";
import type * as at from "protocol/generated/endpoints.ts";

export type Peer = wire.Peer;
/** The subagents of a peer. */
export type Children = Pick<WireResponse<typeof at.getPeer>, "children" | "children_count">;
export type Network = WireResponse<typeof at.listMachines>;
/** Another machine of the network. */
export type OtherMachine = Network["machines"][number];
export type Ask = wire.Ask;
export type AskPage = WireResponse<typeof at.listAsks>;
export type MessagePage = WireResponse<typeof at.listMessages>;
export type Message = wire.Message;
export type Attachment = Message["attachments"][number];
export type TranscriptEntry = WireResponse<typeof at.readTranscript>["entries"][number];
export type Usage = WireResponse<typeof at.getUsage>;
type UsageAnswer = WireResponse<typeof at.listUsage>;
export type SessionUsages = Extract<UsageAnswer, { usage: unknown }>;
export type UsageReport = Exclude<UsageAnswer, SessionUsages>;
export type AgentTurn = WireResponse<typeof at.listTurns>["turns"][number];
export type Changes = Omit<WireResponse<typeof at.readChanges>, "peer_id" | "name">;
export type ChangedFile = Changes["files"][number];
export type ReviewList = WireResponse<typeof at.listReviews>;
export type ReviewDetail = WireResponse<typeof at.readReview>;
export type Review = ReviewDetail["review"];
export type JointChecks = WireResponse<typeof at.listJointChecks>;
export type ReviewComment = ReviewDetail["comments"][number];
/** The fields of an attachment that decide how it is shown. */
export type FileFacts = Pick<Attachment, "id" | "filename" | "size" | "content_type">;
export type Trace = WireResponse<typeof at.getTrace>;
export type Limit = wire.Limit;
export type InboxItem = wire.InboxItem;
export type JobLists = WireResponse<typeof at.listJobs>;
export type JobInList = wire.JobInList;
export type TemplateInList = JobLists["recurring"][number];
export type JobRecord = WireResponse<typeof at.getJob>;
export type OneJob = Extract<JobRecord, { job_id: string }>;
export type ScheduleRequest = z.input<typeof at.createSchedule.body>;
export type JobRequest = z.input<typeof at.createJob.body>;
export type Figures = WireResponse<typeof at.getFigures>;
export type Selftest = WireResponse<typeof at.listSelftests>["tested"][number];
export type Subscription = WireResponse<typeof at.listSubscriptions>["subscriptions"][number];
export type Schedule = WireResponse<typeof at.listSchedules>["schedules"][number];
export type Health = WireResponse<typeof at.getHealth>;
export type Lease = WireResponse<typeof at.listLeases>["leases"][number];
export type FileAnswer = WireResponse<typeof at.whoUsesFile>;
export type PortAnswer = WireResponse<typeof at.whoUsesPort>;
export type Budget = wire.Budget;
export type Digest = WireResponse<typeof at.getDigest>;
export type LogEvent = WireResponse<typeof at.listEvents>["events"][number];
export type DeliveryCounts = WireResponse<typeof at.listDeliveries>;
export type DoctorReport = WireResponse<typeof at.diagnosePeer>;
export type PushDevice = WireResponse<typeof at.listPush>["subscriptions"][number];
export type PairedDevice = WireResponse<typeof at.listDevices>["devices"][number];
export type PhoneCode = WireResponse<typeof at.createCode>;
export type App = WireResponse<typeof at.listApps>["apps"][number];
export type Share = WireResponse<typeof at.listShares>["shares"][number];
export type Setting = WireResponse<typeof at.getConfig>["settings"][number];
export type Restart = WireResponse<typeof at.restartPeer>;
export type SpawnConfig = WireResponse<typeof at.spawnConfig>;
export type HandedOff = WireResponse<typeof at.handOff>;
export type SpawnResult = WireResponse<typeof at.spawnPeer>;
export type Orphan = WireResponse<typeof at.listOrphans>["panes"][number];
export type Backend = Orphan["backend_hint"] & string;
export type Screen = WireResponse<typeof at.showPane>;
