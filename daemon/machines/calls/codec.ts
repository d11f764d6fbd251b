/** Encoding of a call between machines and of its answer: a nonce in clear, the rest sealed. */

import * as z from "zod";
import { decodeUtf8 } from "kit/http/body.ts";
import { Milliseconds } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
import { CALL_BYTES_MAX, RequestMethod, tooLarge } from "./bounds.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const FORMAT = 1;
const NONCE_AT = 1;
export const NONCE_BYTES = 16;
const SEALED_AT = NONCE_AT + NONCE_BYTES;
/** The length of the head, as a big-endian number. */
const LENGTH_BYTES = 4;
const PATH_LENGTH_MAX = 16_384;

const Headers = z.array(z.tuple([z.string(), z.string()]));

/** When it was written: of a call and of an answer, by the clock of the machine that is called. */
const at = Milliseconds;

/** Head of a call. A ping is answered to every machine whose keys are known. */
export const CallHead = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ping"), at }),
  z.object({
    kind: z.literal("request"),
    at,
    /** True if the calling machine has proved that a person calls. */
    human: z.boolean(),
    method: RequestMethod,
    path: z.string().startsWith("/").max(PATH_LENGTH_MAX),
    headers: Headers,
  }),
]);
export type CallHead = z.output<typeof CallHead>;
export type RequestHead = Extract<CallHead, { kind: "request" }>;

export const AnswerHead = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("pong"), at }),
  /** The call was too old or too new by the clock of this machine, and nothing was done. */
  z.object({ kind: z.literal("wrong_time"), at }),
  z.object({
    kind: z.literal("response"),
    at,
    status: z.int().min(200).max(599),
    headers: Headers,
  }),
]);
export type AnswerHead = z.output<typeof AnswerHead>;

/** A head with the bytes of its body. */
export interface HeadAndBody<Head> {
  readonly head: Head;
  readonly body: Bytes;
}

const NO_BODY: Bytes = new Uint8Array();

/** The context of a sealed call, which opens as no other call and as no answer. */
export function callContext(nonce: string): string {
  return `call ${nonce}`;
}

/** The context of a sealed answer, which answers only this call. */
export function answerContext(nonce: string): string {
  return `answer ${nonce}`;
}

/** Adds the nonce, in hex digits, to a sealed call. */
export function toFrame(nonce: string, sealed: Uint8Array): Bytes {
  const frame = new Uint8Array(SEALED_AT + sealed.length);
  frame[0] = FORMAT;
  frame.set(Uint8Array.fromHex(nonce), NONCE_AT);
  frame.set(sealed, SEALED_AT);
  return frame;
}

/** The parts of a frame; undefined for bytes that are none. */
export function readFrame(
  frame: Uint8Array,
): { readonly nonce: string; readonly sealed: Uint8Array } | undefined {
  if (frame.length <= SEALED_AT || frame[0] !== FORMAT) return undefined;
  return { nonce: frame.subarray(NONCE_AT, SEALED_AT).toHex(), sealed: frame.subarray(SEALED_AT) };
}

/** Throws `call_too_large` if it exceeds the limit. */
export function encode(head: CallHead | AnswerHead, body: Uint8Array = NO_BODY): Bytes {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const bodyAt = LENGTH_BYTES + json.length;
  if (bodyAt + body.length > CALL_BYTES_MAX) throw tooLarge(partOf(head));
  const bytes = new Uint8Array(bodyAt + body.length);
  new DataView(bytes.buffer).setUint32(0, json.length);
  bytes.set(json, LENGTH_BYTES);
  bytes.set(body, bodyAt);
  return bytes;
}

function partOf({ kind }: CallHead | AnswerHead): "request" | "answer" {
  return kind === "request" || kind === "ping" ? "request" : "answer";
}

/** Undefined for bytes that are no such head and body. */
export function decode<Head>(
  schema: z.ZodType<Head>,
  given: Uint8Array,
): HeadAndBody<Head> | undefined {
  if (given.length < LENGTH_BYTES || given.length > CALL_BYTES_MAX) return undefined;
  const bytes = new Uint8Array(given);
  const bodyAt = LENGTH_BYTES + new DataView(bytes.buffer).getUint32(0);
  if (bodyAt > bytes.length) return undefined;
  const json = decodeUtf8(bytes.subarray(LENGTH_BYTES, bodyAt));
  const head = schema.safeParse(json === undefined ? undefined : tryJson(json));
  return head.success ? { head: head.data, body: bytes.subarray(bodyAt) } : undefined;
}
