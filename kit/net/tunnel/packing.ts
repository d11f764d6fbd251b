/**
 * Packs the frames and chunks of one turn of the event loop into one message. As separate small
 * writes, each would wait 40 ms for the acknowledgement of the previous one.
 */

import { CHUNK_BYTES_MAX, HEAD_BYTES_MAX } from "kit/net/tunnel/frames.ts";

/** A chunk of the body of the stream `id`. */
export interface Chunk {
  readonly id: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A frame as JSON text, or a chunk of a body. */
export type MessageItem = string | Chunk;

/** A message is sent without waiting for the end of the turn when it reaches this length. */
export const MESSAGE_FLUSH_BYTES = 65_536;
/**
 * Size limit of a received message. It is far above the length of a usual message, which is at most
 * `MESSAGE_FLUSH_BYTES` plus one more item.
 */
const MESSAGE_BYTES_MAX = MESSAGE_FLUSH_BYTES + 8 * HEAD_BYTES_MAX;

/** Each item begins with its length. The highest bit is set for a chunk. */
const PREFIX_BYTES = 4;
const ID_BYTES = 4;
const IS_CHUNK = 0x8000_0000;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** An upper limit of the number of bytes that an item adds to a message. */
export function itemBytesMax(item: MessageItem): number {
  const length = typeof item === "string" ? 3 * item.length : ID_BYTES + item.bytes.length;
  return PREFIX_BYTES + length;
}

export function packMessage(items: readonly MessageItem[]): Uint8Array<ArrayBuffer> {
  const parts = items.map((item) => typeof item === "string" ? encoder.encode(item) : item);
  const lengthOf = (part: Uint8Array | Chunk) =>
    part instanceof Uint8Array ? part.length : ID_BYTES + part.bytes.length;
  const length = parts.reduce((sum, part) => sum + PREFIX_BYTES + lengthOf(part), 0);
  const message = new Uint8Array(length);
  const view = new DataView(message.buffer);
  let at = 0;
  for (const part of parts) {
    const isChunk = !(part instanceof Uint8Array);
    view.setUint32(at, (isChunk ? IS_CHUNK : 0) + lengthOf(part));
    at += PREFIX_BYTES;
    if (isChunk) {
      view.setUint32(at, part.id);
      message.set(part.bytes, at + ID_BYTES);
    } else message.set(part, at);
    at += lengthOf(part);
  }
  return message;
}

/** Returns the items of a message. If the message is invalid, returns a sentence that says why. */
export function unpackMessage(message: ArrayBuffer): MessageItem[] | string {
  if (message.byteLength > MESSAGE_BYTES_MAX) return "A message is too long";
  const view = new DataView(message);
  const items: MessageItem[] = [];
  for (let at = 0; at < message.byteLength;) {
    if (message.byteLength - at < PREFIX_BYTES) return "A message ends inside of a length";
    const prefix = view.getUint32(at);
    const length = prefix % IS_CHUNK;
    at += PREFIX_BYTES;
    if (length > message.byteLength - at) return "A message ends inside of a frame";
    const item = prefix >= IS_CHUNK ? chunkAt(view, at, length) : textAt(message, at, length);
    if (item === undefined) return "A frame is invalid or too long";
    items.push(item);
    at += length;
  }
  return items;
}

function chunkAt(view: DataView<ArrayBuffer>, at: number, length: number): Chunk | undefined {
  const bytes = length - ID_BYTES;
  if (bytes < 1 || bytes > CHUNK_BYTES_MAX) return undefined;
  return { id: view.getUint32(at), bytes: new Uint8Array(view.buffer, at + ID_BYTES, bytes) };
}

function textAt(message: ArrayBuffer, at: number, length: number): string | undefined {
  if (length > HEAD_BYTES_MAX) return undefined;
  try {
    return decoder.decode(new Uint8Array(message, at, length));
  } catch (error) {
    if (error instanceof TypeError) return undefined; // The text is invalid UTF-8.
    throw error;
  }
}
