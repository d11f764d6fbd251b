/** Reviews on another machine: what that machine answers is text of a stranger. */

import type * as z from "zod";
import { showHidden } from "kit/core/hidden.ts";
import { Problem } from "protocol/problems.ts";
import { maskSecrets } from "../agents/sessions/secrets.ts";
import { cleanChanges } from "../changes/elsewhere.ts";
import {
  listReviews,
  readReview,
  type ReviewDetail,
  REVIEWS_MAX,
} from "protocol/reviews/contract.ts";

/** A request to another machine about its reviews. */
export interface RequestElsewhere {
  readonly method: "GET" | "POST";
  readonly path: `/${string}`;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Headers;
}

/** Passes a person's request on to another machine. */
export interface ReviewsElsewhere {
  /** The other machine's answer. Throws `reviews_elsewhere` if it refuses. */
  request(machine: string, request: RequestElsewhere): Promise<unknown>;
}

/** Maximum characters of a text of another machine. */
const CHARS_MAX = 20_000;

/** An answer in the form of a contract, with short texts whose hidden characters are shown. */
export function cleanAnswer<S extends z.ZodType>(
  machine: string,
  schema: S,
  answer: unknown,
  secrets: readonly string[],
): z.output<S> {
  const { data } = schema.safeParse(cleanTexts(answer, secrets));
  if (data === undefined) {
    throw new Problem("reviews_elsewhere", { machine, reason: "its answer has another form" });
  }
  return data;
}

export function cleanList(machine: string, answer: unknown, secrets: readonly string[]) {
  const list = cleanAnswer(machine, listReviews.returns, answer, secrets);
  const { reviews, unread } = list;
  return { ...list, reviews: reviews.slice(0, REVIEWS_MAX), unread: unread.slice(0, REVIEWS_MAX) };
}

export function cleanDetail(
  machine: string,
  answer: unknown,
  secrets: readonly string[],
): ReviewDetail {
  const detail = cleanAnswer(machine, readReview.returns, answer, secrets);
  // Its own limits: there may be very many lines.
  const given = typeof answer === "object" && answer !== null && "changes" in answer
    ? answer.changes
    : undefined;
  const changes = cleanChanges(given, secrets);
  if (!changes) {
    throw new Problem("reviews_elsewhere", { machine, reason: "its answer has another form" });
  }
  return { ...detail, changes };
}

function cleanTexts(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") {
    return showHidden(maskSecrets(value.slice(0, CHARS_MAX), secrets).text);
  }
  if (Array.isArray(value)) return value.map((item) => cleanTexts(item, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, cleanTexts(item, secrets)]),
  );
}
