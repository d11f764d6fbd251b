/** Reads the files of a chat, and carries those of the person to the daemon. */

import { ApiError } from "kit/http/client.ts";
import { cleanFilename, cleanMediaType } from "kit/http/filenames.ts";
import { ATTACHMENTS_MAX, deleteAttachment } from "protocol/messages/attachments.ts";
import { Backoff } from "../../cli/client/backoff.ts";
import { uploadContent } from "../../cli/client/uploads.ts";
import { ChatError, type IncomingFile } from "./chat.ts";
import { type ChatDeps, isDaemonUnavailable } from "./daemon_calls.ts";

/** Maximum number of download attempts; with the pauses they take up to three minutes. */
const DOWNLOADS_MAX = 10;
const RETRY_MS_MAX = 30_000;
const MEGABYTE = 1_000_000;

/** A file that cannot be forwarded. The message is for the person. */
export class FileRefused extends Error {
  override readonly name = "FileRefused";
}

type Files = readonly IncomingFile[];

export class IncomingFiles {
  readonly #deps: Pick<ChatDeps, "chat" | "call" | "clock" | "daemon" | "ids" | "log">;
  /** The attachments of messages that are not forwarded yet, by the key of the file. */
  readonly #uploaded = new Map<string, string>();

  constructor(deps: ChatDeps) {
    this.#deps = deps;
  }

  /**
   * Uploads all files, and returns the ids of their attachments. Throws `FileRefused` if one of
   * them cannot be forwarded, and keeps none then. While the daemon is unavailable it throws too;
   * the next call uploads only what is missing.
   */
  async upload(files: Files, signal: AbortSignal): Promise<string[]> {
    this.#mustFit(files);
    try {
      const attachments: string[] = [];
      for (const file of files) attachments.push(await this.#uploadOnce(file, signal));
      return attachments;
    } catch (error) {
      const isRefused = error instanceof ApiError && !isDaemonUnavailable(error);
      const refusal = isRefused ? new FileRefused(error.problem.detail) : error;
      if (refusal instanceof FileRefused) await this.discard(files, signal);
      throw refusal;
    }
  }

  /** Called when the message is done: its attachments stay with the daemon. */
  forget(files: Files): void {
    for (const { key } of files) this.#uploaded.delete(key);
  }

  /** Deletes the attachments of a message that the daemon has refused. */
  async discard(files: Files, signal: AbortSignal): Promise<void> {
    for (const { key } of files) {
      const id = this.#uploaded.get(key);
      this.#uploaded.delete(key);
      if (id === undefined) continue;
      await this.#deps.call(deleteAttachment, { params: { id }, signal }).catch(() => {
        this.#deps.log(`Attachment ${id} belongs to no message; the daemon deletes it later`);
      });
    }
  }

  /** Checks the number of files and their known sizes before the first download. */
  #mustFit(files: Files): void {
    const { title, download_bytes_max: max } = this.#deps.chat.style;
    if (files.length > ATTACHMENTS_MAX) {
      throw new FileRefused(`A message can carry at most ${ATTACHMENTS_MAX} files.`);
    }
    const large = files.find(({ size = 0 }) => size > max);
    if (!large) return;
    const limit = `${title} gives me files of up to ${Math.floor(max / MEGABYTE)} MB`;
    throw new FileRefused(`"${cleanFilename(large.filename)}" is too large: ${limit}.`);
  }

  async #uploadOnce(file: IncomingFile, signal: AbortSignal): Promise<string> {
    const known = this.#uploaded.get(file.key);
    if (known !== undefined) return known;
    const bytes = await this.#download(file, signal);
    const { id } = await uploadContent(this.#deps.daemon, {
      filename: cleanFilename(file.filename),
      content_type: cleanMediaType(file.content_type),
      content: ReadableStream.from([bytes]),
    }, signal);
    this.#uploaded.set(file.key, id);
    return id;
  }

  async #download(file: IncomingFile, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const { title, download_bytes_max } = this.#deps.chat.style;
    const backoff = new Backoff(this.#deps, RETRY_MS_MAX);
    for (let tries = 1;; tries++) {
      try {
        return await file.load(download_bytes_max, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ChatError) || error.error_class === "unauthorized") throw error;
        const { error_class, message, retry_after_ms } = error;
        const isFinal = error_class === "bad_request" || error_class === "forbidden";
        if (isFinal || tries === DOWNLOADS_MAX) {
          const name = cleanFilename(file.filename);
          throw new FileRefused(`${title} does not give me "${name}": ${message}.`);
        }
        await backoff.pause(signal, retry_after_ms);
      }
    }
  }
}

/** Reads a body, and stops as soon as it is too large. */
export async function readBounded(
  body: Response["body"],
  bytes_max: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > bytes_max) {
      throw new ChatError("bad_request", `it has more than ${bytes_max} bytes`);
    }
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
