/** SQL of blame: commits that hooks reported, and messages by time and chain. */

import * as z from "zod";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
import { StoredMessage } from "protocol/messages/contract.ts";
import { idParams, selectOf, WHERE_ID } from "../messages/ledger/rows.ts";

/** Maximum messages before or after another one that are searched. */
const SEARCHED_MAX = 50_000;
/** Characters of git's shortest abbreviation. */
const PREFIX_CHARS_MIN = 7;

/** Stands for a message that must be found by its time. */
export const UNKNOWN_MESSAGE = "";

const ReportedCommit = z.object({
  peer_id: z.string(),
  /** The message that the agent worked on; null if it worked on none. */
  message_id: z.string().nullable(),
  /** The agent's session; null if it is not known. */
  session_id: z.string().nullable(),
  at: z.number(),
});
export type ReportedCommit = z.output<typeof ReportedCommit>;

export function addCommit(
  tx: Tx,
  commit: ReportedCommit & { readonly repository: string; readonly prefix: string },
): void {
  tx.run(
    `insert or ignore into reported_commits
       (repository, prefix, peer_id, message_id, session_id, at)
     values (:repository, :prefix, :peer_id, :message_id, :session_id, :at)`,
    { ...commit },
  );
}

/** The reports of a commit, the oldest first. */
export function reportsOf(db: Reader, repository: string, commit: string): ReportedCommit[] {
  return db.all(
    ReportedCommit,
    `select peer_id, message_id, session_id, at from reported_commits
     where repository = :repository and prefix between :shortest and :commit
       and substr(:commit, 1, length(prefix)) = prefix
     order by at`,
    { repository, commit, shortest: commit.slice(0, PREFIX_CHARS_MIN) },
  );
}

export function pruneCommits(tx: Tx, before: number): void {
  tx.run("delete from reported_commits where at < :before", { before });
}

/** The fields of a message that lead to its sender and to its chain. */
const BlamedMessage = StoredMessage.pick({
  seq: true,
  delivery_id: true,
  kind: true,
  correlation_id: true,
  from_peer_id: true,
  from_peer_name: true,
  to_peer_id: true,
  to_peer_name: true,
  unverified: true,
  sent_by: true,
  chain: true,
  reply_to: true,
  created_at: true,
});
export type BlamedMessage = z.output<typeof BlamedMessage>;
const MessageRow = rowOf(BlamedMessage);
const SELECT = selectOf(BlamedMessage);

export function message(db: Reader, id: string): BlamedMessage | undefined {
  return db.get(MessageRow, `${SELECT} where ${WHERE_ID}`, idParams(id));
}

/** The last message that a peer had read at a time, among the messages before a number. */
export function readBefore(
  db: Reader,
  { peer_id, at, below, root = null }: {
    readonly peer_id: string;
    readonly at: number;
    /** The number of a later message; all if absent. */
    readonly below?: number;
    /** Only messages of the chain that began with this id. */
    readonly root?: string | null;
  },
): BlamedMessage | undefined {
  return db.get(
    MessageRow,
    `${SELECT} where seq > coalesce(:below, (select max(seq) + 1 from messages)) - :searched_max
       and seq < coalesce(:below, (select max(seq) + 1 from messages))
       and to_peer_id = :peer_id and chain is not null and created_at <= :at
       and coalesce(seen_at, sent_at) <= :at
       and (:root is null or chain ->> 'root' = :root)
     order by seq desc limit 1`,
    { peer_id, at, below: below ?? null, root, searched_max: SEARCHED_MAX },
  );
}

const Approval = z.object({
  correlation_id: z.string(),
  outcome: z.string().nullable(),
  responder: z.string().nullable(),
  closed_at: z.number().nullable(),
  tool: z.string().nullable(),
  /** The chosen option. */
  option_id: z.string().nullable(),
});
export type Approval = z.output<typeof Approval>;

/** The permissions that a peer asked for between two times, the last ones first. */
export function approvalsOf(
  db: Reader,
  span: {
    readonly peer_id: string;
    readonly after: number;
    readonly since: number;
    readonly until: number;
    readonly limit: number;
  },
): Approval[] {
  return db.all(
    Approval,
    `select correlation_id, outcome, responder, closed_at,
       question ->> '$.metadata.tool' as tool, answer ->> '$.option_id' as option_id
     from messages
     where seq > :after and seq < :after + :searched_max and from_peer_id = :peer_id
       and created_at between :since and :until and question ->> 'scope' = 'tool_permission'
     order by seq desc limit :limit`,
    { ...span, searched_max: SEARCHED_MAX },
  );
}
