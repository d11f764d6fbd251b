/** Routes of reviews. What decides or sends is for a person; with `machine`, another one answers. */

import { type Route, route } from "kit/http/route.ts";
import { OK } from "kit/http/contract.ts";
import { Problem } from "protocol/problems.ts";
import type { Address } from "protocol/peers/record.ts";
import * as contracts from "protocol/reviews/contract.ts";
import type { Context } from "../../data/context.ts";
import type { CallerChecks } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { Reader } from "../transcripts/transcripts.ts";
import { placeComments, sendComments } from "./comments.ts";
import { cleanAnswer, cleanDetail, cleanList, type ReviewsElsewhere } from "./elsewhere.ts";
import { PERSON, type Reviews } from "./reviews.ts";

interface ReviewRoutesDeps {
  readonly ctx: Context;
  readonly directory: Directory;
  readonly reviews: Reviews;
}

interface ReviewChecks extends Pick<CallerChecks, "requestContextOf"> {
  readonly readerOf: ReaderOf;
  readonly elsewhere: ReviewsElsewhere;
}

export function reviewRoutes(deps: ReviewRoutesDeps, checks: ReviewChecks): Route[] {
  return [
    ...readRoutes(deps, checks),
    ...decisionRoutes(deps, checks),
    ...sendRoutes(deps, checks),
  ];
}

function readRoutes({ reviews }: ReviewRoutesDeps, { readerOf, elsewhere }: ReviewChecks): Route[] {
  const { secrets } = reviews.deps;
  return [
    route(contracts.listReviews, async ({ query, caller, headers }) => {
      const { machine, from_peer, ...wanted } = query;
      const reader = readerOf(from_peer, caller, headers);
      const { all = false, fresh = false, limit } = wanted;
      if (machine === undefined) return await reviews.list({ all, fresh, limit }, reader);
      mustPassOn(reader);
      const passed = { all: String(all), fresh: String(fresh), limit: String(limit) };
      const request = { method: "GET", path: "/reviews", query: passed } as const;
      return cleanList(machine, await elsewhere.request(machine, request), secrets);
    }),
    route(contracts.readReview, async ({ params, query, caller, headers, signal }) => {
      const { machine, from_peer, ...wanted } = query;
      const reader = readerOf(from_peer, caller, headers);
      if (machine === undefined) {
        return await reviews.read(params.id, { query: wanted, reader, signal });
      }
      mustPassOn(reader);
      const { offset, limit, file } = wanted;
      const answer = await elsewhere.request(machine, {
        method: "GET",
        path: pathOf(params.id),
        query: {
          offset: String(offset),
          limit: String(limit),
          ...(file !== undefined && { file }),
        },
      });
      return cleanDetail(machine, answer, secrets);
    }),
  ];
}

function decisionRoutes(
  { reviews }: ReviewRoutesDeps,
  { readerOf, elsewhere }: ReviewChecks,
): Route[] {
  const { secrets } = reviews.deps;
  return [
    route(contracts.acceptReviews, async ({ body, caller, headers }) => {
      const { machine, reviews: given } = body;
      const reader = readerOf(undefined, caller, headers);
      if (machine !== undefined) {
        mustPassOn(reader);
        const request = {
          method: "POST",
          path: "/reviews",
          body: { reviews: given },
        } as const;
        const answer = await elsewhere.request(machine, request);
        return cleanAnswer(machine, contracts.acceptReviews.returns, answer, secrets);
      }
      const person = reviews.mustBePerson(reader);
      const results = [];
      for (const { id, digest } of given) {
        const detail = await acceptOne(reviews, { id, digest, person });
        results.push({ id, accepted: detail === null, detail });
      }
      return { results };
    }),
    route(contracts.placeReview, async ({ params, body, caller, headers }) => {
      const { machine, placed } = body;
      const reader = readerOf(undefined, caller, headers);
      if (machine !== undefined) {
        mustPassOn(reader);
        const path = `${pathOf(params.id)}/place` as const;
        await elsewhere.request(machine, { method: "POST", path, body: { placed } });
      } else {
        reviews.mustBePerson(reader);
        await reviews.place(params.id, placed);
      }
      return OK;
    }),
  ];
}

/** One of several: the others are decided although this one is unknown. */
async function acceptOne(
  reviews: Reviews,
  { id, digest, person }: {
    readonly id: string;
    readonly digest: string | undefined;
    readonly person: Address;
  },
): Promise<string | null> {
  try {
    return await reviews.accept(id, digest, person);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.toBody().detail;
  }
}

function sendRoutes(
  { ctx, directory, reviews }: ReviewRoutesDeps,
  { readerOf, requestContextOf, elsewhere }: ReviewChecks,
): Route[] {
  const replay = {
    // On another machine, the person of that machine sends.
    sender: () => directory.human()?.peer_id ?? "",
    again: <A>(before: A): A => before,
  };
  const passOn = async (machine: string, path: `/${string}`, body: unknown, headers: Headers) => {
    const answer = await elsewhere.request(machine, { method: "POST", path, body, headers });
    return cleanAnswer(machine, contracts.sendBackReview.returns, answer, reviews.deps.secrets);
  };
  return [
    route(contracts.sendBackReview, async ({ params, body, caller, headers, commit }) => {
      const { machine, ...request } = body;
      const reader = readerOf(undefined, caller, headers);
      if (machine !== undefined) {
        mustPassOn(reader);
        const answer = await passOn(machine, `${pathOf(params.id)}/send-back`, request, headers);
        return commit(() => answer);
      }
      // Both before anything is awaited, while the calling process still exists.
      const person = reviews.mustBePerson(reader);
      const context = requestContextOf(caller, headers);
      const found = await reviews.find(params.id, PERSON);
      reviews.mustBeSeen(found, request.digest);
      return commit(() => ({
        ...OK,
        correlation_ids: [reviews.sendBack(found, request.text, { person, context })],
      }));
    }, replay),
    route(contracts.commentReview, async ({ params, body, caller, headers, commit }) => {
      const { machine, comments } = body;
      const reader = readerOf(undefined, caller, headers);
      if (machine !== undefined) {
        mustPassOn(reader);
        const answer = await passOn(
          machine,
          `${pathOf(params.id)}/comments`,
          { comments },
          headers,
        );
        return commit(() => answer);
      }
      // Both before anything is awaited, while the calling process still exists.
      const person = reviews.mustBePerson(reader);
      const context = requestContextOf(caller, headers);
      const found = await reviews.find(params.id, PERSON);
      const placed = await placeComments(found, comments, reviews.deps);
      const sending = { asks: reviews.deps.asks, person, context };
      return commit(() => ({
        ...OK,
        correlation_ids: sendComments(ctx, found, placed, sending),
      }));
    }, replay),
  ];
}

/** Only a person here reaches other machines; two machines do not pass a request back and forth. */
function mustPassOn({ isHuman, isElsewhere }: Reader): void {
  if (!isHuman || isElsewhere) throw new Problem("human_not_proven", {});
}

function pathOf(id: string): `/reviews/${string}` {
  return `/reviews/${encodeURIComponent(id)}`;
}
