/** The reviews of this machine and of the others, as the desk lists them. */

import * as at from "protocol/generated/endpoints.ts";
import { call, errorText } from "../../state/calls.ts";
import { network } from "../../state/network.ts";
import type { Review, ReviewList } from "../../state/records.ts";

/** A review, by the key of its row. `machine` is undefined for this one. */
export interface Target {
  readonly key: string;
  readonly machine: string | undefined;
}

export interface Entry extends Target {
  readonly review: Review;
}

/** A folder that was never read: its review can be opened, by its author. */
export type Unread = ReviewList["unread"][number];

export interface Desk {
  readonly entries: readonly Entry[];
  readonly unread: readonly Unread[];
  /** Number of folders that are being read. */
  readonly reading: number;
  /** The machines whose reviews are not shown, with the reason. */
  readonly left_out: readonly { readonly machine: string; readonly reason: string }[];
}

export async function loadDesk(all: boolean): Promise<Desk> {
  const query = { all: all ? "true" : "false" } as const;
  const { reviews, unread, reading } = await call(at.listReviews, { query });
  const entries = reviews.map((review) => entryOf(review, undefined));
  return { entries, unread, reading, left_out: [] };
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
    unread: [],
    reading: 0,
    left_out: answers.flatMap(({ left_out }) => left_out),
  };
}

function entryOf(review: Review, machine: string | undefined): Entry {
  return { ...targetOf(review, machine), review };
}

export function targetOf({ review_id }: Review, machine: string | undefined): Target {
  return { key: machine === undefined ? review_id : `${machine}/${review_id}`, machine };
}
