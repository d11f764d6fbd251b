/** Answers of this page: drafts, sending, and questions that were closed elsewhere meanwhile. */

import * as at from "protocol/generated/endpoints.ts";
import { signal } from "@preact/signals";
import { call, isRefusal, PREFIX } from "./calls.ts";
import type { Ask } from "./records.ts";
import { inbox, openAsks } from "./store.ts";
import { keepText, readKept } from "./browser/storage.ts";

/** A person's answer; without an option and a text it acknowledges the ask. */
export interface Reply {
  readonly option_id?: string;
  readonly text?: string;
  /** A remark beside the option, such as why it is denied. */
  readonly message?: string;
  /** The text is the reason why the ask is declined. */
  readonly declined?: true;
}

/** The asks that this page has closed; the page hides them before the daemon's lists change. */
export const closedAsks = signal<ReadonlySet<string>>(new Set());
/** The asks whose answer of this page came too late, as they are now. */
export const lateAnswers = signal<ReadonlyMap<string, Ask>>(new Map());

/** The asks that this page is answering now. */
export const pending = signal<ReadonlySet<string>>(new Set());

/** The answers that this page has tried to send. */
const sentReplies = new Map<string, Reply>();

export const answerDraft = (correlation_id: string): string => `answer-${correlation_id}`;

export function hasDraft(correlation_id: string): boolean {
  return draftOf(answerDraft(correlation_id)).trim() !== "";
}

/**
 * Answers an ask; these routes never open a new one. False if the ask was closed with another
 * answer.
 */
export async function giveAnswer(ask: Ask, reply: Reply, headers: Record<string, string>) {
  const { correlation_id } = ask;
  sentReplies.set(correlation_id, reply);
  setPending(correlation_id, true);
  try {
    return await answerOnce(ask, reply, headers);
  } finally {
    setPending(correlation_id, false);
  }
}

function setPending(correlation_id: string, is_pending: boolean): void {
  const next = new Set(pending.value);
  if (is_pending) next.add(correlation_id);
  else next.delete(correlation_id);
  pending.value = next;
}

async function answerOnce(ask: Ask, reply: Reply, headers: Record<string, string>) {
  const { correlation_id } = ask;
  try {
    await send(ask, reply, headers);
  } catch (error) {
    if (!isRefusal(error, "already_closed")) throw error;
    const closed = await call(at.getAsk, { params: { id: correlation_id } });
    if (!isOwn(closed)) {
      lateAnswers.value = new Map(lateAnswers.value).set(correlation_id, closed);
      reload();
      return false;
    }
  }
  finish(correlation_id);
  reload();
  return true;
}

function send(
  { correlation_id, question, to_peer_id: from_peer }: Ask,
  { option_id, text, message: remark, declined }: Reply,
  headers: Record<string, string>,
): Promise<unknown> {
  const who = { correlation_id, from_peer };
  if (declined) return call(at.declineAsk, { body: { ...who, reason: text ?? "" }, headers });
  const chosen = { option_id, ...(remark && { message: remark }) };
  const given = option_id === undefined ? text === undefined ? {} : { text } : chosen;
  if (question) return call(at.answerAsk, { body: { ...who, ...given }, headers });
  const message = text === undefined ? {} : { message: text };
  return call(at.ackAsk, { body: { ...who, ...message }, headers });
}

/** True if an ask was closed with this page's last answer, whose response may be lost. */
export function isOwn(closed: Ask): boolean {
  const reply = sentReplies.get(closed.correlation_id);
  if (!reply) return false;
  const { option_id, text, declined } = reply;
  if (closed.responder !== closed.to_peer_name) return false;
  if (declined) return closed.outcome === "declined" && closed.reply === text;
  if (closed.outcome === "declined") return false;
  if (option_id !== undefined) return closed.answer?.option_id === option_id;
  return text === undefined ? closed.outcome === "acknowledged" : closed.reply === text;
}

/** Sends the text of a late answer as a new ask, which a person has confirmed. */
export async function askAnew(ask: Ask, text: string, headers: Record<string, string>) {
  const { correlation_id, to_peer_id, from_peer_id, from_peer_name } = ask;
  const to_peer = from_peer_id ?? from_peer_name;
  const body = { from_peer: to_peer_id, to_peer, text, reply_to: correlation_id };
  await call(at.openAsk, { body, headers });
  finish(correlation_id);
  reload();
}

/** The card and its draft are not needed any more. */
export function finish(correlation_id: string): void {
  keepDraft(answerDraft(correlation_id), "");
  sentReplies.delete(correlation_id);
  closedAsks.value = new Set(closedAsks.value).add(correlation_id);
  const rest = new Map(lateAnswers.value);
  rest.delete(correlation_id);
  lateAnswers.value = rest;
}

function reload(): void {
  inbox.refresh();
  openAsks.refresh();
}

/** The longest draft that outlives a reload; a message cannot be longer. */
const CHARS_MAX = 262_144;

const drafts = new Map<string, string>();

/**
 * An unsent text. It outlives a reload, but not the tab, because it may be secret. `name` is unique
 * on the page, such as `answer-ask-1`.
 */
export function draftOf(name: string): string {
  return drafts.get(name) ?? readKept(keyOf(name), "session") ?? "";
}

export function keepDraft(name: string, text: string): void {
  if (text) drafts.set(name, text);
  else drafts.delete(name);
  keepText(keyOf(name), text && text.length <= CHARS_MAX ? text : null, "session");
}

/** Through a relay, the pages of all machines share one storage. */
function keyOf(name: string): string {
  return `mesh-draft${PREFIX}-${name}`;
}
