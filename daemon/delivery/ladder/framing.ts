/** What an agent reads: every message framed, so that no peer can pose as another (contract 5). */

import { escapeMarkup } from "kit/text.ts";
import { Question, toQuestionTags } from "../../asks/contract.ts";
import { toTag } from "../attachments/contract.ts";
import type { Held } from "../contract.ts";

/** All but line feeds; a tab becomes a space before. */
// deno-lint-ignore no-control-regex
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;

/** Drops C0, C1 and ESC; tabs become spaces, line endings line feeds. */
export function printable(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n").replaceAll("\t", " ").replaceAll(CONTROLS, "");
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
    `[mesh] @${from_peer_name} → @${to_peer_name}: ${printable(text)}`,
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
    from: `@${from_peer_name}`,
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
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}="${escapeMarkup(value ?? "").replaceAll('"', "&quot;")}"`)
    .join(" ");
}

/** A peer's message and its own id. All other ids in it are what it is about, or its words. */
const SAID = /<peer-message [^>]*?id="([a-z]+-[0-9a-f]{12})"[^>]*>[^]*?(?:<\/peer-message>|$)/g;

/** The ids of messages that a prompt carries in our own frames: what it proves seen. */
export function idsIn(prompt: string): string[] {
  if (!prompt.includes("[mesh")) return [];
  const frames = prompt.replaceAll(SAID, "$1");
  return [...new Set(frames.match(/\b(?:ask|qd|notif)-[0-9a-f]{12}\b/g) ?? [])];
}
