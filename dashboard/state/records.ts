/** The records that the dashboard shows, as they arrive: instants are text. */

import type * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import type * as wire from "protocol/wire.ts";
import type * as at from "./endpoints.ts";

export type Peer = wire.Peer;
/** The subagents of a peer. */
export type Children = Pick<WireResponse<typeof at.getPeer>, "children" | "children_count">;
export type Network = WireResponse<typeof at.machineList>;
/** Another machine of the network. */
export type OtherMachine = Network["machines"][number];
export type Ask = wire.Ask;
export type AskPage = WireResponse<typeof at.askList>;
export type MessagePage = WireResponse<typeof at.messages>;
export type Message = wire.Message;
export type Attachment = Message["attachments"][number];
export type TranscriptEntry = WireResponse<typeof at.transcript>["entries"][number];
export type Usage = WireResponse<typeof at.usage>;
export type AgentTurn = WireResponse<typeof at.turns>["turns"][number];
/** What of an attachment decides how it is shown. */
export type FileFacts = Pick<Attachment, "id" | "filename" | "size" | "content_type">;
export type Trace = WireResponse<typeof at.trace>;
export type InboxItem = wire.InboxItem;
export type JobLists = WireResponse<typeof at.jobList>;
export type JobInList = wire.JobInList;
export type TemplateInList = JobLists["recurring"][number];
export type JobRecord = WireResponse<typeof at.job>;
export type OneJob = Extract<JobRecord, { job_id: string }>;
export type ScheduleRequest = z.input<typeof at.createSchedule.body>;
export type JobRequest = z.input<typeof at.createJob.body>;
export type Figures = WireResponse<typeof at.figures>;
export type Selftest = WireResponse<typeof at.selftests>["tested"][number];
export type Subscription = WireResponse<typeof at.subscriptionList>["subscriptions"][number];
export type Schedule = WireResponse<typeof at.scheduleList>["schedules"][number];
export type Health = WireResponse<typeof at.health>;
export type LogEvent = WireResponse<typeof at.eventList>["events"][number];
export type DeliveryCounts = WireResponse<typeof at.deliveryList>;
export type DoctorReport = WireResponse<typeof at.doctor>;
export type App = WireResponse<typeof at.appList>["apps"][number];
export type Share = WireResponse<typeof at.shareList>["shares"][number];
export type Setting = WireResponse<typeof at.config>["settings"][number];
export type Restart = WireResponse<typeof at.restartPeer>;
export type SpawnConfig = WireResponse<typeof at.spawnConfig>;
export type HandedOff = WireResponse<typeof at.handOff>;
export type Spawned = WireResponse<typeof at.spawnPeer>;
export type Orphan = WireResponse<typeof at.orphans>["panes"][number];
export type Backend = Orphan["backend_hint"] & string;
export type Screen = WireResponse<typeof at.pane>;
