/** The text to type into a pane for a message: cleaned, and cut to the screen's limit. */

import type { OutgoingMessage } from "./adapter.ts";
import type { Screen } from "./screens.ts";

/** Part of a text that is cleaned, as a multiple of the limit: cleaning shortens a text. */
const READ_FACTOR = 8;

/** The text to type; undefined if the message must not be typed. */
export function textToType(
  { framed, proof_id }: OutgoingMessage,
  screen: Screen,
): string | undefined {
  const { bytes_max, newlines } = screen;
  const head = framed.slice(0, READ_FACTOR * bytes_max);
  const clean = head.toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replaceAll("\t", "    ")
    // deno-lint-ignore no-control-regex -- Control characters are what is taken out.
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, "")
    .trimEnd();
  if (!clean.startsWith("[mesh] ") || proof_id === "") return undefined;
  const whole = newlines === "kept" ? clean : joinLines(clean);
  const text = truncateFramed(whole, proof_id, screen, head.length < framed.length);
  return text.includes(proof_id) ? text : undefined;
}

/** Joins trimmed lines and drops empty ones. */
function joinLines(text: string): string {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).join(" ⏎ ");
}

/** The head of a long text, with its frame closed and a note on how to read the rest. */
export function truncateFramed(
  text: string,
  proof_id: string,
  { bytes_max, newlines }: Pick<Screen, "bytes_max" | "newlines">,
  is_cut = false,
): string {
  const encoder = new TextEncoder();
  const fits = !is_cut && text.length <= bytes_max && encoder.encode(text).length <= bytes_max;
  if (fits) return text;
  const frame_end = text.startsWith("[mesh] <peer-message ") ? "</peer-message>" : "";
  const line_end = newlines === "kept" ? "\n" : " ⏎ ";
  const tail = `…${frame_end}${line_end}[mesh] cut here; the whole text: mesh show ${proof_id}`;
  const buffer = new Uint8Array(bytes_max - encoder.encode(tail).length);
  const { read } = encoder.encodeInto(text, buffer); // Never splits a character.
  return text.slice(0, read).replace(/&[a-z#0-9]{0,8}$/, "") + tail;
}
