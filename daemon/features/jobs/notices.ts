/** Who is told of a job's end, and of a deadline that has passed: at best one, and never twice. */

import type { Context } from "kit/data/context.ts";
import { cleanLine } from "kit/core/text.ts";
import { recoverableProblem } from "kit/core/problem.ts";
import type { StoredJob } from "./store.ts";

/** How much of a result a notice carries; `mesh jobs result` has the rest. */
const RESULT_CHARS_MAX = 1500;

export interface NoticeDeps {
  /** The live orchestrator of a circle. */
  orchestrator(circle: string): string | undefined;
  /** Sends it as the daemon's own word; refuses with a problem. */
  notify(to_peer: string, text: string): void;
}

export class Notices {
  readonly #ctx: Context;
  readonly #deps: NoticeDeps;

  constructor(ctx: Context, deps: NoticeDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The owner, else the creator, else the circle's orchestrator; never who knows of it anyway. */
  settled(job: StoredJob, knowing_peer_id: string | null): void {
    const isNotified = this.#notifyFirst(job, settledText(job), knowing_peer_id);
    if (!isNotified) this.#ctx.log.debug("Nobody was told of a job's end", { job_id: job.job_id });
  }

  deadlinePassed(job: StoredJob): void {
    const text =
      `[job ${job.job_id}] "${cleanLine(job.title)}" is ${job.state}, and its deadline has ` +
      "passed. It goes on; `mesh jobs cancel` calls it off.";
    this.#notifyFirst(job, text, null);
  }

  /** An executor that cannot be ended is asked to stop. */
  cancelled({ job_id, title }: StoredJob, executor_peer_id: string): void {
    const text = `[job ${job_id}] "${cleanLine(title)}" was cancelled: stop working on it.`;
    this.#tryNotify(executor_peer_id, text);
  }

  #notifyFirst(job: StoredJob, text: string, excluded_peer_id: string | null): boolean {
    const { owner_peer_id, created_by_peer_id, circle } = job;
    const first = [owner_peer_id, created_by_peer_id].filter((peer_id) => peer_id !== null);
    const recipients = [...new Set(first)].filter((peer_id) => peer_id !== excluded_peer_id);
    if (recipients.some((peer_id) => this.#tryNotify(peer_id, text))) return true;
    const orchestrator = this.#deps.orchestrator(circle);
    if (orchestrator === undefined || orchestrator === excluded_peer_id) return false;
    return !recipients.includes(orchestrator) && this.#tryNotify(orchestrator, text);
  }

  /** Whether the message was accepted for delivery. */
  #tryNotify(peer_id: string, text: string): boolean {
    try {
      this.#deps.notify(peer_id, text);
      return true;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      this.#ctx.log.debug("A peer could not be told of a job", { peer_id, code: refusal.code });
      return false;
    }
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
  if (isTruncated) lines.push(`The whole: mesh jobs result ${job_id}`);
  return lines.filter((line) => line !== "").join("\n");
}
