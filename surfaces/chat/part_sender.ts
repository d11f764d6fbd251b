/** Sends one part of an item to the chat; the bytes of a file come from the daemon. */

import type { Clock } from "kit/core/clock.ts";
import { ApiError } from "kit/http/client.ts";
import { cleanFilename } from "kit/http/filenames.ts";
import { timeout } from "kit/core/timeout.ts";
import type { DaemonClient } from "../../cli/client/daemon_client.ts";
import { type Chat, ChatError, hasFailed, type OutgoingText } from "./chat.ts";
import { isDaemonUnavailable } from "./daemon_calls.ts";
import type { FilePart, Part } from "./parts.ts";

/** Time limit for the daemon to return a file. */
const LOAD_MS_MAX = 60_000;

/** A file that cannot be sent, now or later. The message says why. */
export class FileNotSent extends Error {
  override readonly name = "FileNotSent";
}

export interface PartSenderDeps {
  readonly chat: Pick<Chat, "sendText" | "sendFile" | "style">;
  readonly clock: Clock;
  readonly daemon: Pick<DaemonClient, "get" | "url">;
}

interface Signals {
  /** Aborts the send if nothing was sent yet. */
  readonly stop: AbortSignal;
  /** Ends a send in progress. */
  readonly abort: AbortSignal;
}

/**
 * Sends a part. Returns the ref of its message, if the chat returns it. Throws `FileNotSent`, or a
 * `ChatError`. Its class is `network` also if the daemon cannot return the file now.
 */
export async function sendPart(
  deps: PartSenderDeps,
  part: Part,
  { mayBeShown, ...place }: Pick<OutgoingText, "reply_to" | "first_ref" | "mayBeShown">,
  { stop, abort }: Signals,
): Promise<string | undefined> {
  const { chat } = deps;
  if (part.kind === "text") {
    const { text, buttons, item_id, number } = part;
    return await chat.sendText(
      { text, item_id, part: number, buttons, mayBeShown, ...place },
      abort,
    );
  }
  const { filename, caption } = part;
  const bytes = await load(deps, part, stop);
  const file = {
    filename: cleanFilename(filename),
    bytes,
    isPicture: isPicture(bytes),
    caption,
    ...place,
  };
  try {
    return await chat.sendFile(file, abort);
  } catch (error) {
    if (!hasFailed(error, "bad_request")) throw error;
    throw new FileNotSent(`${chat.style.title} rejects it: ${error.message}`);
  }
}

async function load(
  { chat, clock, daemon }: PartSenderDeps,
  { id, size }: FilePart,
  stop: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const { title, file_bytes_max } = chat.style;
  if (size > file_bytes_max) {
    throw new FileNotSent(`it has ${size} bytes, and ${title} takes at most ${file_bytes_max}`);
  }
  try {
    const loading = (signal: AbortSignal) => download(daemon, id, signal);
    const bytes = await timeout(clock, LOAD_MS_MAX, loading, stop);
    if (bytes?.length === size) return bytes;
  } catch (error) {
    if (error instanceof ApiError && !isDaemonUnavailable(error)) {
      throw new FileNotSent(error.problem.detail);
    }
  }
  throw new ChatError("network", "The daemon did not give us a file of the item");
}

/** The bytes of an attachment. Throws the daemon's refusal. */
async function download(
  daemon: PartSenderDeps["daemon"],
  id: string,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await daemon.get(`/attachments/${encodeURIComponent(id)}`, { signal });
  if (!response.ok) throw new ApiError(response.status, await response.json());
  return new Uint8Array(await response.arrayBuffer());
}

/** The first bytes of the formats that chats show (PNG, JPEG, GIF, WebP), percent-encoded. */
const BEGINNINGS = [
  /^%89PNG%0D%0A%1A%0A/,
  /^%FF%D8%FF/,
  /^GIF8[79]a/,
  /^RIFF(?:%..|[^%]){4}WEBP/,
];
const BEGINNING_BYTES = 12;

/** True if the bytes begin as a PNG, JPEG, GIF or WebP does. */
function isPicture(bytes: Uint8Array): boolean {
  const beginning = Array.from(bytes.subarray(0, BEGINNING_BYTES), escapeByte).join("");
  return BEGINNINGS.some((pattern) => pattern.test(beginning));
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte);
  return /\w/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
