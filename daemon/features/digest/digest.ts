/** The digest: what happened in a period, and what waits for the human now. */

import * as z from "zod";
import type { Context } from "../../data/context.ts";
import { firstLineOf } from "kit/core/text.ts";
import type { EventType } from "protocol/events.ts";
import type { Digest } from "protocol/messages/digest.ts";
import * as inbox from "../inbox/store.ts";
import * as jobs from "../jobs/store.ts";
import * as peers from "../peers/store.ts";
import * as rows from "./store.ts";

/** Maximum asks, jobs and events of a period that are counted. */
const COUNTED_MAX = 10_000;
/** Maximum of the newest events that are searched, in about 10 ms: no index finds a type. */
const EVENTS_MAX = 50_000;
/** Maximum items of the inbox that are read. */
const ITEMS_MAX = 500;
const LINE_CHARS = 200;

/** Events about limits of accounts, budgets and loops. */
const LIMIT_EVENTS = [
  "limit_changed",
  "limit_storm",
  "budget",
  "looping",
] as const satisfies readonly EventType[];

const EventData = z.object({
  peer_id: z.string().nullish(),
  name: z.string().nullish(),
  state: z.string().nullish(),
  reason: z.string().nullish(),
  subject: z.string().nullish(),
  event: z.string().nullish(),
  kind: z.string().nullish(),
});

export interface DigestRequest extends rows.Period {
  /** Maximum entries of each list. */
  readonly limit: number;
}

export function digestOf({ db, events, clock }: Context, request: DigestRequest): Digest {
  const { limit, ...period } = request;
  const closed = rows.closedAsks(db, { ...period, limit: COUNTED_MAX });
  const decisions = closed.filter(({ is_decision }) => is_decision);
  const answers = closed.filter(({ is_decision, outcome }) =>
    !is_decision && outcome !== "acknowledged"
  );
  const checks = jobs.endedIn(db, { ...period, limit: COUNTED_MAX });
  const after = events.idBefore(EVENTS_MAX);
  const limits = limitsIn(db, { ...period, after });
  const waiting = waitingItems(db, clock.now());
  return {
    ...period,
    decisions: decisions.slice(0, limit).map(toAsk),
    answers: answers.slice(0, limit).map(toAsk),
    checks: checks.slice(0, limit).map(toJob),
    limits: limits.slice(0, limit),
    waiting: waiting.slice(0, limit).map(toItem),
    counts: {
      decisions: decisions.length,
      answers: answers.length,
      checks: checks.length,
      limits: limits.length,
      waiting: waiting.length,
    },
  };
}

type Db = Context["db"];

function limitsIn(db: Db, { circle, ...range }: rows.Period & { after: number }) {
  const found = rows.eventsOf(db, { ...range, types: LIMIT_EVENTS, limit: COUNTED_MAX });
  return found.flatMap(({ type: event, at, data }): Digest["limits"] => {
    const logged = EventData.parse(JSON.parse(data));
    const { peer_id = null, name, state, reason } = logged;
    const peer = peer_id === null ? undefined : peers.get(db, peer_id);
    if (circle !== null && peer?.circle !== circle) return [];
    if (event === "budget" && logged.event === "opened") return [];
    const peer_name = name ?? peer?.name ?? null, subject = logged.subject ?? null;
    const why = reasonOf(event, logged) ?? state ?? reason ?? null;
    return [{ event, peer_id, peer_name, subject, reason: why, at }];
  });
}

/** The words for a budget or a loop; undefined for a limit, whose state says it. */
function reasonOf(event: string, logged: z.output<typeof EventData>): string | undefined {
  if (event === "budget") {
    const { event, state } = logged;
    if (event === "warned") return "two thirds of the budget used";
    return event === "granted" ? "as much again allowed" : `budget ${state}`;
  }
  if (event !== "looping") return undefined;
  return logged.kind === "calls" ? "repeats its calls" : "exchange without anything new";
}

/** The open items, without those that are put off and those that the human sent. */
function waitingItems(db: Db, now: number) {
  const isOwn = (peer_id: string | null) =>
    peer_id !== null && peers.get(db, peer_id)?.role === "human";
  return inbox.open(db, ITEMS_MAX).filter(({ snoozed_until, from_peer_id }) =>
    (snoozed_until ?? 0) <= now && !isOwn(from_peer_id)
  );
}

function toAsk({ is_decision: _, question, answer, ...ask }: rows.ClosedAsk) {
  return {
    ...ask,
    question: firstLineOf(question, LINE_CHARS),
    answer: answer && firstLineOf(answer, LINE_CHARS),
  };
}

const Checks = z.array(z.object({ name: z.string(), exit: z.number().nullable() }));

function toJob(job: jobs.StoredJob): Digest["checks"][number] {
  const { job_id, title, state, state_reason, circle, result_data, updated_at } = job;
  const result = job.result_summary ?? job.error;
  return {
    job_id,
    title: firstLineOf(title, LINE_CHARS),
    state,
    state_reason,
    circle,
    checks: Checks.safeParse(result_data?.["checks"]).data ?? [],
    result: result && firstLineOf(result, LINE_CHARS),
    ended_at: updated_at, // A job does not change after its end.
  };
}

function toItem({ item_id, kind, from, correlation_id, text, created_at }: ReturnType<
  typeof waitingItems
>[number]): Digest["waiting"][number] {
  return { item_id, kind, from, correlation_id, text: firstLineOf(text, LINE_CHARS), created_at };
}
