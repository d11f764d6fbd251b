/** The entry that takes a message to another machine. */

import type { Tx } from "kit/data/sqlite.ts";
import { sha256 } from "kit/host/node_library.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Chain, ReportedChain } from "protocol/origins/record.ts";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import type { ExchangeDeps } from "./deps.ts";
import type { MessageEntry } from "./entries.ts";
import * as rows from "./store.ts";

/** Maximum characters of a name in a report. */
const REPORTED_CHARS_MAX = 255;

/** A message on its way to another machine. */
interface ForwardContext {
  readonly message: StoredMessage;
  readonly daemon_id: string;
  /** Number of earlier follow-ups, on all machines. */
  readonly hops: number;
}

/** Makes the entry, in the transaction that appends it: its files are counted as used. */
export function toEntry(
  tx: Tx,
  { message, daemon_id, hops }: ForwardContext,
  { directory, files }: Pick<ExchangeDeps, "directory" | "files">,
): MessageEntry {
  const { delivery_id, kind, correlation_id, to_peer_id, voice, urgent, text, circle } = message;
  if (kind !== "ask" && kind !== "notify" && kind !== "broadcast") {
    throw new Error(`A message of kind ${kind} does not go to another machine`);
  }
  const { from_peer_id, from_peer_name, traceparent, created_at, expires_at } = message;
  const from = from_peer_id === null ? undefined : directory.address(from_peer_id);
  return {
    delivery_id,
    kind,
    correlation_id,
    from: { peer_id: from_peer_id, name: from_peer_name, circle: from?.circle ?? null },
    to_peer_id,
    voice,
    urgent,
    ...(message.chain && { chain: reportOf(message.chain) }),
    ...(kind === "ask" && message.proof && message.proof.checks.length > 0 &&
      { prove: message.proof.checks }),
    text,
    circle,
    question: message.question as MessageEntry["question"],
    reply_to: replyTo(tx, message, daemon_id),
    hops,
    attachments: message.attachments.map((file) => files.uploads.describe(tx, daemon_id, file)),
    traceparent,
    created_at,
    expires_at,
  };
}

/** The chain as the other machine learns it: what a third machine reports is passed on. */
function reportOf({ origin, reported, name, root }: Chain): ReportedChain {
  return { origin: reported ?? origin, name: name && name.slice(0, REPORTED_CHARS_MAX), root };
}

/**
 * Digest of the content of a message, from fields that are identical on both machines. Leaves out
 * files and questions, because each machine stores them in its own form.
 */
export function digestOf(
  { kind, correlation_id, from, to_peer_id, text, created_at }:
    & Pick<
      MessageEntry,
      "kind" | "correlation_id" | "to_peer_id" | "text" | "created_at"
    >
    & { readonly from: Pick<MessageEntry["from"], "peer_id"> },
): string {
  const said = [kind, correlation_id, from.peer_id, to_peer_id, text, created_at];
  return sha256(JSON.stringify(said), "base64url");
}

/** The ask that a message follows up on, if the other machine knows it, too. */
function replyTo(tx: Tx, { reply_to }: StoredMessage, daemon_id: string): MessageEntry["reply_to"] {
  if (reply_to === null) return null;
  const before = ledger.findMessage(tx, reply_to);
  const known = before && rows.bySeq(tx, before.seq);
  if (known?.daemon_id !== daemon_id || known.correlation_id === null) return null;
  return { sent: known.sent, correlation_id: known.correlation_id };
}
