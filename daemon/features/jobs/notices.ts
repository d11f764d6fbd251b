/** Who is told of a job's end, and of a deadline that has passed: at best one, and never twice. */

import type { Ground } from "kit/data/context.ts";
import { cleanLine } from "kit/core/text.ts";
import { refusalOf } from "kit/core/problem.ts";
import type { StoredJob } from "./store.ts";

/** How much of a result a notice carries; `mesh jobs result` has the rest. */
const RESULT_CHARS_MAX = 1500;

export interface NoticeNeeds {
  /** The live orchestrator of a circle. */
  orchestrator(circle: string): string | undefined;
  /** Sends it as the daemon's own word; refuses with a problem. */
  notify(to_peer: string, text: string): void;
}

export class Notices {
  readonly #ground: Ground;
  readonly #needs: NoticeNeeds;

  constructor(ground: Ground, needs: NoticeNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** The owner, else the creator, else the circle's orchestrator; never who knows of it anyway. */
  settled(job: StoredJob, knowing_peer_id: string | null): void {
    const told = this.#tell(job, settledText(job), knowing_peer_id);
    if (!told) this.#ground.log.debug("Nobody was told of a job's end", { job_id: job.job_id });
  }

  late(job: StoredJob): void {
    const text =
      `[job ${job.job_id}] "${cleanLine(job.title)}" is ${job.state}, and its deadline has ` +
      "passed. It goes on; `mesh jobs cancel` calls it off.";
    this.#tell(job, text, null);
  }

  /** An executor that cannot be ended is asked to stop. */
  cancelled({ job_id, title }: StoredJob, executor_peer_id: string): void {
    const text = `[job ${job_id}] "${cleanLine(title)}" was cancelled: stop working on it.`;
    this.#reach(executor_peer_id, text);
  }

  #tell(job: StoredJob, text: string, except: string | null): boolean {
    const { owner_peer_id, created_by_peer_id, circle } = job;
    const first = [owner_peer_id, created_by_peer_id].filter((peer_id) => peer_id !== null);
    const others = [...new Set(first)].filter((peer_id) => peer_id !== except);
    if (others.some((peer_id) => this.#reach(peer_id, text))) return true;
    const orchestrator = this.#needs.orchestrator(circle);
    if (orchestrator === undefined || orchestrator === except) return false;
    return !others.includes(orchestrator) && this.#reach(orchestrator, text);
  }

  /** Whether the message was accepted for delivery. */
  #reach(peer_id: string, text: string): boolean {
    try {
      this.#needs.notify(peer_id, text);
      return true;
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      this.#ground.log.debug("A peer could not be told of a job", { peer_id, code: refusal.code });
      return false;
    }
  }
}

function settledText({ job_id, title, state, state_reason, result_summary, error }: StoredJob) {
  const why = state_reason ? ` (${cleanLine(state_reason)})` : "";
  const said = (state === "completed" ? result_summary : error ?? result_summary) ?? "";
  const cut = said.length > RESULT_CHARS_MAX;
  const shown = cut ? `${said.slice(0, RESULT_CHARS_MAX).toWellFormed()}…` : said;
  const lines = [`[job ${job_id}] "${cleanLine(title)}" ${state}${why}.`, shown];
  if (cut) lines.push(`The whole: mesh jobs result ${job_id}`);
  return lines.filter((line) => line !== "").join("\n");
}
