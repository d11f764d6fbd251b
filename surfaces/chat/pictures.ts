/** Recognizes pictures by their first bytes, because a name or a type may be wrong. */

/** The first bytes of the formats that chats show (PNG, JPEG, GIF, WebP), percent-encoded. */
const BEGINNINGS = [
  /^%89PNG%0D%0A%1A%0A/,
  /^%FF%D8%FF/,
  /^GIF8[79]a/,
  /^RIFF(?:%..|[^%]){4}WEBP/,
];
const BEGINNING_BYTES = 12;

/** True if the bytes begin as a PNG, JPEG, GIF or WebP does. */
export function isPicture(bytes: Uint8Array): boolean {
  const beginning = Array.from(bytes.subarray(0, BEGINNING_BYTES), escapeByte).join("");
  return BEGINNINGS.some((pattern) => pattern.test(beginning));
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte);
  return /\w/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
