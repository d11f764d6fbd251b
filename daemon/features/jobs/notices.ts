/** Notifies one peer of a job's end, and of a deadline that has passed. */

import type { Context } from "../../data/context.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { isLive } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredJob } from "./store.ts";

/** Maximum characters of a result in a notice. `mesh jobs result` shows all of it. */
const RESULT_CHARS_MAX = 1500;

export class Notices {
  readonly #ctx: Context;
  readonly #notifications: Notifications;

  constructor(ctx: Context, notifications: Notifications) {
    this.#ctx = ctx;
    this.#notifications = notifications;
  }

  /**
   * Notifies the owner of a job's end; failing that, the creator; failing that, the orchestrator.
   * The informed peer is never notified, because it knows of the end.
   */
  notifyEnd(job: StoredJob, informed_peer_id: string | null): void {
    const isNotified = this.#notifyFirst(job, settledText(job), informed_peer_id);
    if (!isNotified) {
      this.#ctx.log.debug("No peer was notified of a job's end", { job_id: job.job_id });
    }
  }

  deadlinePassed(job: StoredJob): void {
    const text =
      `[job ${job.job_id}] "${cleanLine(job.title)}" is ${job.state}, and its deadline has ` +
      "passed. The job goes on; cancel it with `mesh jobs cancel`.";
    this.#notifyFirst(job, text, null);
  }

  /** Notifies one peer that a job waits because the turn of its executor was interrupted. */
  notifyInterruption(job: StoredJob): void {
    const { job_id, title, error } = job;
    const text = `[job ${job_id}] "${cleanLine(title)}" waits: ${error}. After ` +
      `\`mesh jobs update ${job_id} --state running\`, the next turn completes it.`;
    this.#notifyFirst(job, text, null);
  }

  /** Asks an executor to stop a cancelled job. One started for the job is ended instead. */
  requestStop({ job_id, title }: StoredJob, executor_peer_id: string): void {
    const text = `[job ${job_id}] "${cleanLine(title)}" was cancelled: stop working on it.`;
    this.#notifications.tryNotifyFromDaemon(executor_peer_id, text);
  }

  #notifyFirst(job: StoredJob, text: string, excluded_peer_id: string | null): boolean {
    const { owner_peer_id, created_by_peer_id, circle } = job;
    const first = [owner_peer_id, created_by_peer_id].filter((peer_id) => peer_id !== null);
    const recipients = [...new Set(first)].filter((peer_id) => peer_id !== excluded_peer_id);
    const isNotified = (peer_id: string) =>
      this.#notifications.tryNotifyFromDaemon(peer_id, text, { caused_by: job.job_id }) !==
        undefined;
    if (recipients.some(isNotified)) return true;
    const orchestrator = peerRows.orchestrators(this.#ctx.db, circle).find(isLive)?.peer_id;
    if (orchestrator === undefined || orchestrator === excluded_peer_id) return false;
    return !recipients.includes(orchestrator) && isNotified(orchestrator);
  }
}

function settledText({ job_id, title, state, state_reason, result_summary, error }: StoredJob) {
  const why = state_reason ? ` (${cleanLine(state_reason)})` : "";
  const resultText = (state === "completed" ? result_summary : error ?? result_summary) ?? "";
  const isTruncated = resultText.length > RESULT_CHARS_MAX;
  const shown = isTruncated
    ? `${resultText.slice(0, RESULT_CHARS_MAX).toWellFormed()}…`
    : resultText;
  const lines = [`[job ${job_id}] "${cleanLine(title)}" ${state}${why}.`, shown];
  if (isTruncated) lines.push(`See all of it with: mesh jobs result ${job_id}`);
  return lines.filter((line) => line !== "").join("\n");
}
