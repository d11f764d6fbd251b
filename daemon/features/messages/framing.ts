/** Frames: the text of a message as an agent reads it, so that no peer can pose as another. */

import { cleanText, escapeMarkup, toDisplayName } from "kit/core/text.ts";
import { Question, toQuestionTags } from "protocol/messages/question.ts";
import { neutralizeMarks, quotedName, tagAttributes } from "protocol/messages/frame_markers.ts";
import { isOutside, originMark } from "protocol/derived/origins.ts";
import { toTag } from "protocol/messages/attachments.ts";
import type { OutgoingMessage } from "../agents/adapter.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { ProofResult } from "protocol/proofs/contract.ts";

/** Cleans foreign text: removes control and hidden characters, neutralizes `[mesh` markers. */
export function printable(text: string): string {
  return neutralizeMarks(cleanText(text).replaceAll("\t", " "));
}

/** The id in a message's frame. A prompt that contains the id proves that the message was seen. */
function proofId({ kind, correlation_id, delivery_id }: StoredMessage): string {
  return kind === "ask" && correlation_id ? correlation_id : delivery_id;
}

/** The text for an agent's prompt (contract 5). It begins with `[mesh] `. */
export function frame(message: StoredMessage): string {
  return message.voice === "human" ? humanFrame(message) : peerFrame(message);
}

/** A frame with a line of the daemon after it. */
export function withNote(framed: string, note: string | null): string {
  return note === null ? framed : `${framed}\n${note}`;
}

/** A message as an agent's transport sends it. */
export function toOutgoing(message: StoredMessage, note: string | null = null): OutgoingMessage {
  return {
    delivery_id: message.delivery_id,
    proof_id: proofId(message),
    kind: message.kind,
    human: message.voice === "human",
    framed: withNote(frame(message), note),
  };
}

/** The frame of a message from the human, which the agent may follow as an instruction. */
function humanFrame(message: StoredMessage): string {
  const { from_peer_name, to_peer_name, text } = message;
  return [
    `[mesh] @${quotedName(from_peer_name)} → @${quotedName(to_peer_name)}: ${printable(text)}`,
    ...tags(message),
    ...notes(message),
    message.kind === "ask" ? answerHint(message) : `[mesh ${proofId(message)}]`,
  ].join("\n");
}

/**
 * The frame of a message from a peer, which is data and no instruction. The text is escaped and
 * stands between tags that it can neither forge nor close. Attachments and options are within the
 * tags, because they are the peer's data, too.
 */
function peerFrame(message: StoredMessage): string {
  const { kind, circle, text, voice, urgent, from_peer_name, sent_by, chain } = message;
  const attributes = tagAttributes({
    type: kind,
    id: proofId(message),
    re: kind === "ack" ? message.correlation_id : message.reply_to,
    from: `@${toDisplayName(from_peer_name)}`,
    by: sent_by,
    origin: isOutside(chain) ? originMark(chain) : null,
    circle,
    outcome: kind === "ack" ? message.outcome : null,
    proof: kind === "ack" ? message.proof?.state ?? null : null,
    unverified: voice === "unverified" ? "true" : null,
    urgent: urgent ? "true" : null,
  });
  const body = [escapeMarkup(printable(text)), ...tags(message)].join("\n");
  const lines = [`[mesh] <peer-message ${attributes}>${body}</peer-message>`];
  lines.push(...notes(message));
  if (kind === "ask") lines.push(answerHint(message));
  // Ends the daemon's line: ids in the text after it prove nothing.
  else if (message.proof) lines.push(`[mesh ${proofId(message)}]`);
  return lines.join("\n");
}

/** The length of a message's text and tags, in characters. */
export function framedLength(message: StoredMessage): number {
  return tags(message).reduce((sum, { length }) => sum + length, message.text.length);
}

/** The tags of a message: one line for each attachment, then the tags of its question. */
function tags(message: StoredMessage): string[] {
  const question = questionOf(message);
  const questionTags = question ? toQuestionTags(question, message.text) : [];
  const outputs = (message.proof?.results ?? []).filter(({ outcome }) => outcome !== "verified");
  return [...message.attachments.map(toTag), ...questionTags, ...outputs.map(findingTag)]
    .map(printable);
}

/** A finding. Claims and outputs are text of the recipient and its programs: data, too. */
export function findingTag({ kind, name, outcome, reason, output }: ProofResult): string {
  const text = [reason, ...output === "" ? [] : [output]].join("\n");
  return `<finding ${tagAttributes({ [kind]: name, outcome })}>${escapeMarkup(text)}</finding>`;
}

/** A line of the daemon on the proof of an answer, without any text of others. */
function notes({ proof }: StoredMessage): string[] {
  return proof?.note ? [`[mesh] ${proof.note}`] : [];
}

function questionOf({ kind, question }: StoredMessage): Question | undefined {
  return kind === "ask" && question ? Question.safeParse(question).data : undefined;
}

/** One line, under 200 characters, with the command to answer. */
function answerHint(message: StoredMessage): string {
  const { correlation_id: id } = message;
  if (questionOf(message)?.kind === "choice") {
    return `[mesh] Answer with one of the ids: mesh tool answer(correlation_id="${id}", ` +
      `option_id=…), or decline; in a shell: mesh answer ${id} --option O; mesh show ${id}`;
  }
  return `[mesh] Answer with the mesh tool ack(correlation_id="${id}", message=…), or ` +
    `decline; in a shell: mesh ack ${id} "…"; mesh show ${id}`;
}

/** The marker at the start of each line of the daemon. A draft may stand directly before it. */
const FRAME_MARK = /\[mesh(?=[\]\s])/g;
const MESSAGE_ID = /\b(?:ask|qd|notif)-[0-9a-f]{12}\b/g;

/** A line of the daemon with a single id. The text after it is foreign: its ids prove nothing. */
const SINGLE_ID_LINE = /^(?:\s|\]\s*(?:Answer\s+with|cut\s+here)\s)/;
/** The start of a peer's frame, with its id, which the asker may have chosen. */
const PEER_FRAME = /^\]\s*<peer-message(?=\s)(?:[^<>]*?\sid="([^"<>]{1,200})")?/;
const HUMAN_FRAME = /^\]\s*@/;
const FRAME_END = "</peer-message>";

/**
 * The ids in the frames of a prompt. Each proves that its message was seen; ids within a message's
 * body prove nothing. Agents wrap lines, so a space in a line of the daemon may have become a line
 * end.
 */
export function idsIn(prompt: string): string[] {
  const ids = new Set<string>();
  const marks = [...prompt.matchAll(FRAME_MARK)].map(({ index }) => index);
  let readUntil = 0;
  for (const [markIndex, mark] of marks.entries()) {
    if (mark < readUntil) continue; // Within a message's body.
    const from = mark + "[mesh".length;
    const line = prompt.slice(from, marks[markIndex + 1]);
    // The id of the human's message is in the daemon's next line.
    if (HUMAN_FRAME.test(line)) continue;
    const peerMatch = PEER_FRAME.exec(line);
    if (peerMatch) {
      const end = prompt.indexOf(FRAME_END, from);
      readUntil = end < 0 ? prompt.length : end;
      if (peerMatch[1] !== undefined) ids.add(peerMatch[1]);
      continue;
    }
    const named = line.match(MESSAGE_ID) ?? [];
    for (const id of SINGLE_ID_LINE.test(line) ? named.slice(0, 1) : named) ids.add(id);
  }
  return [...ids];
}
