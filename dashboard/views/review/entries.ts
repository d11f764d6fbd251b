/** The reviews of this machine and of the others, as the desk lists them. */

import * as at from "protocol/generated/endpoints.ts";
import { call, errorText } from "../../state/calls.ts";
import { network } from "../../state/network.ts";
import type { Review } from "../../state/records.ts";

/** A review; `machine` is undefined for this one. */
export interface Entry {
  readonly key: string;
  readonly machine: string | undefined;
  readonly review: Review;
}

export interface Desk {
  readonly entries: readonly Entry[];
  /** Number of folders that are being read. */
  readonly reading: number;
  /** The machines whose reviews are not shown, with the reason. */
  readonly left_out: readonly { readonly machine: string; readonly reason: string }[];
}

export async function loadDesk(all: boolean): Promise<Desk> {
  const query = { all: all ? "true" : "false" } as const;
  const { reviews, reading } = await call(at.listReviews, { query });
  return { entries: reviews.map((review) => entryOf(review, undefined)), reading, left_out: [] };
}

/** The reviews of the other machines. This machine's do not wait for them. */
export async function loadElsewhere(all: boolean): Promise<Desk> {
  const query = { all: all ? "true" : "false" } as const;
  const machines = network.value.value?.machines ?? [];
  const answers = await Promise.all(machines.map(async ({ name, daemon_id }) => {
    try {
      const { reviews } = await call(at.listReviews, { query: { ...query, machine: daemon_id } });
      return { entries: reviews.map((review) => entryOf(review, name)), left_out: [] };
    } catch (error) {
      return { entries: [], left_out: [{ machine: name, reason: errorText(error) }] };
    }
  }));
  return {
    entries: answers.flatMap(({ entries }) => entries),
    reading: 0,
    left_out: answers.flatMap(({ left_out }) => left_out),
  };
}

function entryOf(review: Review, machine: string | undefined): Entry {
  const key = machine === undefined ? review.review_id : `${machine}/${review.review_id}`;
  return { key, machine, review };
}
