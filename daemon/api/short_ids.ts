/** Completes shortened ids, as people type them in the command line. */

import { Problem } from "protocol/problems.ts";
import { type Route, route } from "kit/http/route.ts";
import type { Reader } from "kit/data/sqlite.ts";
import * as askRows from "../features/asks/store.ts";
import * as itemRows from "../features/inbox/store.ts";
import * as jobRows from "../features/jobs/store.ts";
import * as templateRows from "../features/jobs/template_store.ts";
import type { Messages } from "../features/messages/log/message_log.ts";
import * as remoteRows from "../features/peers/remote/store.ts";
import * as peerRows from "../features/peers/store.ts";
import * as scheduleRows from "../features/schedules/store.ts";
import * as subscriptionRows from "../features/subscriptions/store.ts";
import { completeId } from "protocol/api/ids.ts";

/** An optional prefix, and the first digits. */
const SHORT_ID = /^(?:([a-z]+)-)?([0-9a-f]{4,12})$/;

/** The records that are found by a range of their ids, by the prefix of these. */
const STARTING: Readonly<Record<string, (db: Reader, short: string) => string[]>> = {
  askm: askRows.parentIdsFrom,
  inb: itemRows.idsFrom,
  work: jobRows.idsFrom,
  cal: templateRows.idsFrom,
  sched: scheduleRows.idsFrom,
  sub: subscriptionRows.idsFrom,
};

interface ShortIdsDeps {
  readonly db: Reader;
  readonly messages: Messages;
}

export function shortIdRoutes(deps: ShortIdsDeps): Route[] {
  return [
    route(completeId, ({ params: { short }, query }) => {
      const [, prefix, digits] = SHORT_ID.exec(short) ?? [];
      if (digits === undefined) throw new Problem("unknown_id", { short });
      const found = query.of === "peer"
        ? peersOf(deps, short, { prefix, digits })
        : recordsOf(deps, { prefix, digits });
      const [first, ...rest] = found;
      if (first === undefined) throw new Problem("unknown_id", { short });
      if (rest.length > 0) throw new Problem("ambiguous_id", { short, matches: found });
      return { id: first.id };
    }),
  ];
}

interface ShortId {
  readonly prefix: string | undefined;
  readonly digits: string;
}

/** A possible meaning of a shortened id, and what to show of it. */
interface Match {
  readonly id: string;
  readonly label: string;
}

/**
 * The peers that a shortened id may mean. A peer whose name is the shortened id counts as well, so
 * that nobody gets messages for another peer by such a name.
 */
function peersOf({ db }: ShortIdsDeps, short: string, { prefix = "peer", digits }: ShortId) {
  const id = `peer-${digits}`;
  const begins = prefix === "peer"
    ? [...peerRows.startingWith(db, id), ...remoteRows.startingWith(db, id)]
    : [];
  const named = peerRows.byName(db, short);
  const ids = new Set(begins.map(({ peer_id }) => peer_id));
  const unlisted = named.filter(({ peer_id }) => !ids.has(peer_id));
  return [...begins, ...unlisted].map(({ peer_id, name, circle }): Match => ({
    id: peer_id,
    label: `${name} in ${circle}`,
  }));
}

function recordsOf({ db, messages }: ShortIdsDeps, { prefix, digits }: ShortId): Match[] {
  const ranges = Object.entries(STARTING).filter(([start]) =>
    prefix === undefined || prefix === start
  );
  const found = ranges.flatMap(([start, idsFrom]) => idsFrom(db, `${start}-${digits}`));
  const starting = messages.startingWith(digits).map(({ message_id, delivery_id }) =>
    prefix === undefined
      ? message_id
      : [message_id, delivery_id].find((id) => id.startsWith(`${prefix}-${digits}`))
  ).filter((id) => id !== undefined);
  return [...new Set([...found, ...starting])].map((id) => ({ id, label: "" }));
}
