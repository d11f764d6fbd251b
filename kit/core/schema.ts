/** Schemas that several contracts share: instants, texts, names, query values (contract 1). */

import * as z from "zod";

/** Makes schemas at their first use: making all others takes a third of the daemon's start. */
export function madeLate<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** An instant: milliseconds in code, RFC 3339 UTC with milliseconds on the wire (contract 1). */
export const Instant = z.codec(z.iso.datetime({ offset: true }), z.number().int(), {
  decode: (text) => Date.parse(text),
  encode: (ms) => new Date(ms).toISOString(),
}).meta({ id: "Instant" });

/** The end of the year 9999: a later instant cannot be written as RFC 3339 has it. */
export const INSTANT_MS_MAX = 253_402_300_799_999;

/** An instant as machines send it to each other: in milliseconds. */
export const Milliseconds = z.int().min(0).max(INSTANT_MS_MAX);

export const TEXT_BYTES_MAX = 262_144;
const utf8 = new TextEncoder();

/** Not storable: SQLite's driver truncates a text at a NUL, and UTF-8 has no lone surrogates. */
const isStorableText = (text: string) => !text.includes("\0") && text.isWellFormed();

/** A text that can be shown to an agent and stored unchanged. */
export const DisplayText = z.string().refine(
  isStorableText,
  "Must not contain a NUL or a lone surrogate",
);

/** A short text that is stored, such as a path, a model or a description. */
export function shortText(maxLength: number, minLength = 0) {
  return DisplayText.min(minLength).max(maxLength);
}

/** The text of a message, which may be empty: at most 262,144 bytes of UTF-8. */
export const TextOrEmpty = DisplayText.refine(
  (text) => text.length * 3 <= TEXT_BYTES_MAX || utf8.encode(text).length <= TEXT_BYTES_MAX,
  `Longer than ${TEXT_BYTES_MAX} bytes`,
);

/** The text of a message: 1 to 262,144 bytes of UTF-8. */
export const Text = TextOrEmpty.min(1);

/** Names of peers and circles (contract 1). In a URL, `.` and `..` would stand for a folder. */
export const Name = z.string().regex(
  /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/,
  "A name is 1 to 64 letters, digits, dots, underscores or hyphens, and neither . nor ..",
);

/** A sender: the id or name of a peer, or the name of a sender that is not a peer (contract 2). */
export const Sender = DisplayText.min(1).max(255)
  .regex(/^\P{Cc}*$/u, "Must not contain control characters")
  .regex(/\S/, "Must not be blank");

/**
 * For `meta`: the JSON schema of an object in which all these fields are given. Null means absent,
 * see `readRequest`.
 */
export function requires(...fields: readonly string[]) {
  const properties = fields.map((field) => [field, { not: { type: "null" } }] as const);
  return { required: [...fields], properties: Object.fromEntries(properties) };
}

/** For `meta`: the JSON schema of an object in which none of these fields is given. */
export function forbids(...fields: readonly string[]) {
  return { properties: Object.fromEntries(fields.map((field) => [field, { type: "null" }])) };
}

/** Identifies a request, so that the client can repeat the request safely (contract 1). */
export const IdempotencyKey = z.string().regex(
  /^[\x20-\x7e]{1,255}$/,
  "An idempotency key is 1 to 255 printable ASCII characters",
);

/** Maximum distance from zero of a whole number in a query string: 15 digits. */
const QUERY_INTEGER_MAX = 999_999_999_999_999;

/** A whole number in a query string, such as `12`. Neither `abc` nor an empty value is accepted. */
export function queryInteger(minimum = -QUERY_INTEGER_MAX, maximum = QUERY_INTEGER_MAX) {
  return z.string().regex(/^-?\d{1,15}$/, "Not a whole number").transform(Number)
    .pipe(z.number().min(minimum).max(maximum)).meta({ type: "integer", minimum, maximum });
}

/** A flag in a query string: `1`, `true`, `0` or `false`. */
export const QueryFlag = z.enum(["1", "true", "0", "false"])
  .transform((flag) => flag === "1" || flag === "true");

/** The sender's name if a request names no sender. */
export const ANONYMOUS_SENDER = "cli";
