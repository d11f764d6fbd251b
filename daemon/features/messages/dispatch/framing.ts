/** What an agent reads: every message framed, so that no peer can pose as another (contract 5). */

import { cleanText, escapeMarkup, shownName } from "kit/core/text.ts";
import { Question, toQuestionTags } from "../question.ts";
import { breakMarks, quotedAttribute, quotedName } from "../frame_markers.ts";
import { toTag } from "../attachments/contract.ts";
import type { Held } from "../contract.ts";

/** What others wrote, for a prompt: nothing in it steers, hides, or begins as a line of ours. */
export function printable(text: string): string {
  return breakMarks(cleanText(text).replaceAll("\t", " "));
}

/** The id by which a prompt proves this message seen: the one that its frame carries. */
export function proofId({ kind, correlation_id, delivery_id }: Held): string {
  return kind === "ask" && correlation_id ? correlation_id : delivery_id;
}

/** The whole text for an agent's prompt; it begins with `[mesh] `. */
export function frame(message: Held): string {
  return message.voice === "human" ? humanFrame(message) : peerFrame(message);
}

/** The human's word: an instruction of the user's. */
function humanFrame(message: Held): string {
  const { from_peer_name, to_peer_name, text } = message;
  return [
    `[mesh] @${quotedName(from_peer_name)} → @${quotedName(to_peer_name)}: ${printable(text)}`,
    ...tags(message),
    message.kind === "ask" ? hint(message) : `[mesh ${proofId(message)}]`,
  ].join("\n");
}

/**
 * A peer's word: data, escaped, between tags that no text can forge or close. What it attached and
 * the options that it gives stand within them, as these are its word, too.
 */
function peerFrame(message: Held): string {
  const { kind, circle, text, voice, from_peer_name } = message;
  const said = attributes({
    type: kind,
    id: proofId(message),
    re: kind === "ack" ? message.correlation_id : message.reply_to,
    from: `@${shownName(from_peer_name)}`,
    circle,
    outcome: kind === "ack" ? message.outcome : null,
    unverified: voice === "unverified" ? "true" : null,
  });
  const body = [escapeMarkup(printable(text)), ...tags(message)].join("\n");
  const lines = [`[mesh] <peer-message ${said}>${body}</peer-message>`];
  if (kind === "ask") lines.push(hint(message));
  return lines.join("\n");
}

/** How long a message is to read, with what it carries beside its text. */
export function lengthOf(message: Held): number {
  return tags(message).reduce((sum, { length }) => sum + length, message.text.length);
}

/** What a message carries beside its text, a line each: its files, and what its question says. */
function tags(message: Held): string[] {
  const question = questionOf(message);
  const asked = question ? toQuestionTags(question, message.text) : [];
  return [...message.attachments.map(toTag), ...asked].map(printable);
}

function questionOf({ kind, question }: Held): Question | undefined {
  return kind === "ask" && question ? Question.safeParse(question).data : undefined;
}

/** One line, under 200 characters, that says how to answer. */
function hint(message: Held): string {
  const { correlation_id: id } = message;
  if (questionOf(message)?.kind === "choice") {
    return `[mesh] Answer with one of the ids: mesh tool answer(correlation_id="${id}", ` +
      `option_id=…), or decline; in a shell: mesh answer ${id} --option O; mesh show ${id}`;
  }
  return `[mesh] Answer with the mesh tool ack(correlation_id="${id}", message=…), or ` +
    `decline; in a shell: mesh ack ${id} "…"; mesh show ${id}`;
}

function attributes(of: Record<string, string | null>): string {
  return Object.entries(of)
    .flatMap(([name, value]) => value === null ? [] : `${name}="${quotedAttribute(value)}"`)
    .join(" ");
}

/** The mark of our lines. A draft that is sent as well may stand right before it. */
const MARK = /\[mesh(?=[\]\s])/g;
const ID = /\b(?:ask|qd|notif)-[0-9a-f]{12}\b/g;

/** A line of ours that names its message once; what stands behind it is somebody's words. */
const NAMES_ONE = /^(?:\s|\]\s*(?:Answer\s+with|cut\s+here)\s)/;
/** A peer's message, and its own id, which may be any that the asker of an ask chose. */
const PEERS = /^\]\s*<peer-message(?=\s)(?:[^<>]*?\sid="([^"<>]{1,200})")?/;
const HUMANS = /^\]\s*@/;
const END = "</peer-message>";

/**
 * The ids of messages that a prompt carries in our own frames: what it proves seen. What a body
 * names is what it is about, and proves nothing. Agents wrap what they are given, so that a blank
 * within a line of ours may be a line end.
 */
export function idsIn(prompt: string): string[] {
  const ids = new Set<string>();
  const marks = [...prompt.matchAll(MARK)].map(({ index }) => index);
  let read = 0;
  for (const [nth, mark] of marks.entries()) {
    if (mark < read) continue; // Within a body.
    const from = mark + "[mesh".length;
    const line = prompt.slice(from, marks[nth + 1]);
    if (HUMANS.test(line)) continue; // Its id stands in the line of ours that ends it.
    const peers = PEERS.exec(line);
    if (peers) {
      const end = prompt.indexOf(END, from);
      read = end < 0 ? prompt.length : end;
      if (peers[1] !== undefined) ids.add(peers[1]);
      continue;
    }
    const named = line.match(ID) ?? [];
    for (const id of NAMES_ONE.test(line) ? named.slice(0, 1) : named) ids.add(id);
  }
  return [...ids];
}
