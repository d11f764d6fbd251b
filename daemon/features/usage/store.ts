/** SQL of counted tokens: their daily sums, the read files, the counted requests, and the work. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import { idParams, selectOf, WHERE_ID } from "../messages/ledger/rows.ts";
import { type RequestCursor, RequestTokens, TOKEN_KINDS } from "../agents/sessions/requests.ts";
import { StoredMessage } from "protocol/messages/contract.ts";
import type { UsageBy } from "protocol/usage.ts";

/** The chain of messages and the job that a request belongs to; '' without one. */
export const Work = z.object({ chain: z.string(), job_id: z.string(), budget_id: z.string() });
export type Work = z.output<typeof Work>;

/** The key of a daily sum, with its numbers. */
const DailySum = Work.omit({ budget_id: true }).extend({
  day: z.string(),
  peer_id: z.string(),
  backend: z.string(),
  session_id: z.string(),
  model: z.string(),
  requests: z.number().int(),
  ...RequestTokens.shape,
});
export type DailySum = z.output<typeof DailySum>;

const COLUMNS = Object.keys(DailySum.shape);
const ADD = `insert into usage_days (${COLUMNS.join(", ")})
  values (${COLUMNS.map((column) => `:${column}`).join(", ")})
  on conflict (day, peer_id, backend, session_id, model, chain, job_id) do update set
    requests = requests + excluded.requests,
    ${
  TOKEN_KINDS.map((kind) =>
    `${kind} = iif(${kind} is null, excluded.${kind}, ${kind} + coalesce(excluded.${kind}, 0))`
  ).join(",\n    ")
}`;

export function addSum(tx: Tx, sum: DailySum): void {
  tx.run(ADD, sum);
}

const StoredFile = z.object({
  file: z.string(),
  session_id: z.string(),
  peer_id: z.string(),
  position: z.number(),
  before: z.number(),
  state: z.string(),
  recent: z.string(),
  read_at: z.number(),
});
export type StoredFile = z.output<typeof StoredFile>;
const FILE_COLUMNS = Object.keys(StoredFile.shape);

export function getFile(
  db: Reader,
  key: { file: string; session_id: string },
): StoredFile | undefined {
  const where = "where file = :file and session_id = :session_id";
  return db.get(StoredFile, `select ${FILE_COLUMNS.join(", ")} from usage_files ${where}`, key);
}

/** The place up to which a file was read; undefined if it was not. */
export function cursorOf(
  db: Reader,
  key: { file: string; session_id: string },
): RequestCursor | undefined {
  const found = getFile(db, key);
  return found && { at: found.position, before: found.before, state: found.state };
}

export function putFile(tx: Tx, file: StoredFile): void {
  const values = FILE_COLUMNS.map((column) => `:${column}`).join(", ");
  tx.run(`replace into usage_files (${FILE_COLUMNS.join(", ")}) values (${values})`, file);
}

const SessionOfPeer = StoredFile.pick({ session_id: true, peer_id: true });

/** The sessions whose files were read since a time. */
export function sessionsReadSince(db: Reader, since: number) {
  const statement = "select distinct session_id, peer_id from usage_files where read_at >= :since";
  return db.all(SessionOfPeer, statement, { since });
}

/** Marks a request as counted; false if it was counted before. */
export function markCounted(tx: Tx, key: number, day: string): boolean {
  const insert = "insert or ignore into usage_requests (key, day) values (:key, :day)";
  return tx.run(insert, { key, day }) > 0;
}

export function putWork(tx: Tx, work: Work & { peer_id: string; at: number }): void {
  tx.run(
    `replace into usage_work (peer_id, at, chain, job_id, budget_id)
     values (:peer_id, :at, :chain, :job_id, :budget_id)`,
    work,
  );
}

/** The work that a peer had begun at a time; undefined if none is known. */
export function workAt(db: Reader, peer_id: string, at: number): Work | undefined {
  return db.get(
    Work,
    `select chain, job_id, budget_id from usage_work where peer_id = :peer_id and at <= :at
     order by at desc limit 1`,
    { peer_id, at },
  );
}

const ChainMessage = StoredMessage.pick({
  seq: true,
  delivery_id: true,
  kind: true,
  correlation_id: true,
  reply_to: true,
  from_peer_id: true,
  from_peer_name: true,
  to_peer_id: true,
  to_peer_name: true,
  transport: true,
}).extend({
  parent_id: z.string().nullable(),
  created_at: z.number(),
  sent_at: z.number().nullable(),
});
export type ChainMessage = z.output<typeof ChainMessage>;

/** The fields of a message that say which chain it belongs to. */
export function chainMessage(db: Reader, id: string): ChainMessage | undefined {
  return db.get(ChainMessage, `${selectOf(ChainMessage)} where ${WHERE_ID}`, idParams(id));
}

/** The column of each grouping. */
const GROUPS: Readonly<Record<UsageBy, string>> = {
  day: "day",
  agent: "peer_id",
  model: "model",
  job: "job_id",
  chain: "chain",
};

const GroupSum = DailySum.pick({ model: true, requests: true }).extend({
  key: z.string(),
  ...RequestTokens.shape,
  // Requests without each kind of tokens.
  no_input_tokens: z.number(),
  no_cached_input_read_tokens: z.number(),
  no_cached_input_write_tokens: z.number(),
  no_output_tokens: z.number(),
  no_reasoning_tokens: z.number(),
});
export type GroupSum = z.output<typeof GroupSum>;

/** The days of a report, and its peers; null is all. */
export interface SumFilter {
  readonly from: string;
  readonly to: string;
  readonly peers: readonly string[] | null;
}

const IN_RANGE = `day >= :from and day <= :to
  and (:peers is null or peer_id in (select value from json_each(:peers)))`;

function paramsOf({ from, to, peers }: SumFilter) {
  return { from, to, peers: peers && JSON.stringify(peers) };
}

const SUMS = TOKEN_KINDS.flatMap((kind) => [
  `sum(${kind}) as ${kind}`,
  `sum(iif(${kind} is null, requests, 0)) as no_${kind}`,
]).join(", ");

/** The sums of each group and model. */
export function sumsBy(db: Reader, by: UsageBy, filter: SumFilter): GroupSum[] {
  return db.all(
    GroupSum,
    `select ${GROUPS[by]} as key, model, sum(requests) as requests, ${SUMS}
     from usage_days where ${IN_RANGE} group by ${GROUPS[by]}, model`,
    paramsOf(filter),
  );
}

/** The sums of some chains since a day, by chain and model. */
export function sumsOfChains(
  db: Reader,
  { chains, from }: { readonly chains: readonly string[]; readonly from: string },
): GroupSum[] {
  const chosen = "select value from json_each(:chains)";
  return db.all(
    GroupSum,
    `select chain as key, model, sum(requests) as requests, ${SUMS}
     from usage_days where day >= :from and chain in (${chosen}) group by chain, model`,
    { from, chains: JSON.stringify(chains) },
  );
}

/** The peers with sums. */
export function peersIn(db: Reader, filter: SumFilter): string[] {
  const statement = `select distinct peer_id from usage_days where ${IN_RANGE}`;
  return db.values(z.string(), statement, paramsOf(filter));
}

/** Removes sums before one day, and what is only needed to count before another. */
export function prune(
  tx: Tx,
  { sums_before, counted_before, counted_before_ms }: {
    readonly sums_before: string;
    readonly counted_before: string;
    readonly counted_before_ms: number;
  },
): void {
  tx.run("delete from usage_days where day < :sums_before", { sums_before });
  tx.run("delete from usage_requests where day < :counted_before", { counted_before });
  tx.run("delete from usage_work where at < :counted_before_ms", { counted_before_ms });
  tx.run("delete from usage_files where read_at < :counted_before_ms", { counted_before_ms });
}
