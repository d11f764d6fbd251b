/** Helpers for jobs: creating jobs, and workers on sockets that report their turns. */

import type * as z from "zod";
import type { WireResponse } from "kit/http/client.ts";
import {
  cancelJob,
  createJob,
  getJob,
  jobResult,
  listJobs,
  retryJob,
  runJob,
  updateJob,
} from "protocol/jobs/contract.ts";
import type { World } from "../world.ts";
import { connectPeerWithReceipts, eventData } from "./peer_clients.ts";

type JobInput = z.input<typeof createJob.body>;
type JobUpdate = z.input<typeof updateJob.body>;
type CreatedJob = WireResponse<typeof createJob>;
export type WireJob = Extract<CreatedJob, { job_id: string }>;
export type WireTemplate = Exclude<CreatedJob, { job_id: string }>;

function mustBeJob(created: CreatedJob): WireJob {
  if ("job_id" in created) return created;
  throw new Error(`Not a job: ${created.calendar_id}`);
}

function mustBeTemplate(created: CreatedJob): WireTemplate {
  if ("job_id" in created) throw new Error(`Not a template: ${created.job_id}`);
  return created;
}

/** Creates a job; returns the response. */
export async function create(w: World, jobInput: JobInput): Promise<WireJob> {
  const created = await w.call(createJob, { body: jobInput });
  await w.clock.settle();
  return mustBeJob(created);
}

/** Creates a recurring job; returns the template. */
export async function createRecurring(w: World, jobInput: JobInput): Promise<WireTemplate> {
  return mustBeTemplate(await w.call(createJob, { body: jobInput }));
}

export async function job(w: World, id: string): Promise<WireJob> {
  return mustBeJob(await w.call(getJob, { params: { id } }));
}

export async function template(w: World, id: string): Promise<WireTemplate> {
  return mustBeTemplate(await w.call(getJob, { params: { id } }));
}

/** Waits until the job is in this state, and returns it. */
export async function waitForState(w: World, id: string, state: string): Promise<WireJob> {
  for (let turn = 0; turn < 100; turn++) {
    const now = await job(w, id);
    if (now.state === state) return now;
    await w.clock.settle();
  }
  throw new Error(`${id} is ${await stateOf(w, id)}, and not ${state}`);
}

export async function stateOf(w: World, id: string): Promise<string> {
  return (await job(w, id)).state;
}

export function update(w: World, id: string, body: JobUpdate) {
  return w.call(updateJob, { params: { id }, body });
}

export function list(w: World, query: z.input<typeof listJobs.query> = {}) {
  return w.call(listJobs, { query });
}

export function result(w: World, id: string) {
  return w.call(jobResult, { params: { id } });
}

export async function run(w: World, id: string) {
  const job = await w.call(runJob, { params: { id }, body: {} });
  await w.clock.settle();
  return mustBeJob(job);
}

export async function retry(w: World, id: string) {
  await w.call(retryJob, { params: { id }, body: {} });
  await w.clock.settle();
}

export async function cancel(w: World, id: string, reason?: string) {
  await w.call(cancelJob, { params: { id }, body: { ...(reason && { reason }) } });
  await w.clock.settle();
}

/** A worker that sends receipts, and takes its turns when the test says so. */
export async function connectWorker(w: World, name = "api", more: Record<string, unknown> = {}) {
  const socket = await connectPeerWithReceipts(w, name, more);
  const { peer_id } = socket.frames.find(({ type }) => type === "connected") as unknown as {
    peer_id: string;
  };
  return {
    socket,
    peer_id,
    /** The fire messages that it received, oldest first. */
    fires: () => socket.of("notify").filter(({ text }) => /\[job work-\w+, attempt-/.test(text)),
    /** The notifications of finished jobs that it received. */
    reports: () => socket.of("notify").filter(({ text }) => text.startsWith("[job work-")),
    /** Reports the prompt with the id of the last fire's message. */
    async beginTurn(delivery_id?: string): Promise<void> {
      const id = delivery_id ?? this.fires().at(-1)?.delivery_id;
      await socket.send({ type: "chat_turn", role: "user", text: `[mesh ${id}] Begin` });
    },
    /** Ends its turn with a text. */
    async endTurn(text: string): Promise<void> {
      await socket.send({ type: "chat_turn", role: "assistant", text });
    },
    /** Sends the receipt of its last fire. */
    async receipt(status: string): Promise<void> {
      const delivery_id = this.fires().at(-1)?.delivery_id;
      await socket.send({ type: "delivery_ack", delivery_id, status });
    },
  };
}
export type Worker = Awaited<ReturnType<typeof connectWorker>>;

/** The states of a job, in the order of their events. */
export function jobTransitions(w: World, job_id: string): unknown[] {
  return eventData(w, "job_state_changed").filter((data) => data["job_id"] === job_id)
    .map(({ state }) => state);
}

/** The id of the running attempt. */
export async function attemptOf(w: World, id: string): Promise<string> {
  return (await job(w, id)).runner.current_attempt_id ?? "";
}
