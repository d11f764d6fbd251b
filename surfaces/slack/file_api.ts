/** Files in Slack: uploads files to a conversation, and downloads the person's files. */

import * as z from "zod";
import { ChatError } from "../chat/chat.ts";
import { type ApiCaller, type Block, type Place, SlackApiError } from "./api_caller.ts";
import { Timestamp } from "./timestamps.ts";
import { readBounded } from "../chat/incoming_files.ts";

/** Time limit of a transfer: this minimum, and the time for its bytes at this rate. */
const TRANSFER_MS_MIN = 60_000;
const TRANSFER_BYTES_PER_SECOND = 100_000;

/** A file of a message. Files of other services, and files that were deleted, have no address. */
export const SlackFile = z.looseObject({
  id: z.string().default(""),
  name: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.int().nonnegative().optional().catch(undefined),
  mode: z.string().default(""),
  url_private_download: z.string().optional(),
});
export type SlackFile = z.output<typeof SlackFile>;

const Shares = z.record(z.string(), z.array(z.object({ ts: Timestamp }))).default({});

export class FileApi {
  readonly #caller: ApiCaller;

  constructor(caller: ApiCaller) {
    this.#caller = caller;
  }

  /** Uploads a file, which nobody sees until it is shared; returns its id. */
  async upload(
    { filename, bytes }: { filename: string; bytes: Uint8Array<ArrayBuffer> },
    signal: AbortSignal,
  ): Promise<string> {
    const shape = z.object({ upload_url: z.url(), file_id: z.string().min(1) });
    const params = { filename, length: bytes.length };
    const begun = await this.#caller.call("files.getUploadURLExternal", shape, { params, signal });
    const { upload_url, file_id } = begun;
    if (!this.#isSafe(new URL(upload_url))) {
      throw new ChatError("bad_request", "Slack wants the file at an address that is not https");
    }
    const read = async (response: Response) => {
      await response.body?.cancel();
      return response.status;
    };
    const request = [upload_url, { method: "POST", body: bytes }] as const;
    const ms = transferMs(bytes.length);
    const status = await this.#caller.transfer(request, { read, ms, signal });
    if (status === 200) return file_id;
    const isRefused = status >= 400 && status < 500;
    throw new ChatError(isRefused ? "bad_request" : "network", `the upload got HTTP ${status}`);
  }

  /** Shows an uploaded file in a conversation. */
  async share(
    { file_id, title, channel, thread_ts, blocks }: Place & {
      file_id: string;
      title: string;
      blocks: readonly Block[];
    },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#caller.postTurn(signal);
    const files = [{ id: file_id, title }];
    const params = { files, channel_id: channel, thread_ts, blocks };
    await this.#caller.call("files.completeUploadExternal", z.unknown(), { params, signal });
  }

  /** The message that shows a file in a channel; undefined if there is none so far. */
  async findShare(
    file_id: string,
    channel: string,
    signal: AbortSignal,
  ): Promise<Timestamp | undefined> {
    const shape = z.object({
      file: z.object({
        shares: z.object({ public: Shares, private: Shares }).optional(),
      }),
    });
    const params = { file: file_id };
    const { file } = await this.#caller.call("files.info", shape, { params, signal });
    const { public: open, private: closed } = file.shares ?? {};
    return (open?.[channel] ?? closed?.[channel])?.[0]?.ts;
  }

  /** Downloads a file of at most `bytes_max` bytes. */
  async download(
    { url_private_download, size, mimetype }: SlackFile,
    bytes_max: number,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const url = URL.parse(url_private_download ?? "");
    if (!url || !this.#isSlacks(url)) {
      throw new ChatError("bad_request", "its address is not one of Slack's");
    }
    const { bot_token } = this.#caller.options;
    const init = { headers: { authorization: `Bearer ${bot_token.reveal()}` } };
    const read = async (response: Response) => {
      const { status, headers, body } = response;
      const isPage = headers.get("content-type")?.startsWith("text/html") &&
        !mimetype?.startsWith("text/html");
      if (status === 200 && !isPage) return await readBounded(body, bytes_max);
      await body?.cancel();
      throw toDownloadError(status);
    };
    const ms = transferMs(bytes_max);
    const bytes = await this.#caller.transfer([url.href, init], { read, ms, signal });
    if (size === undefined || bytes.length === size) return bytes;
    throw new ChatError("unclear", `only ${bytes.length} of ${size} bytes have arrived`);
  }

  /** True if an address is encrypted, or is the configured server itself. */
  #isSafe({ protocol, host }: URL): boolean {
    const base = new URL(this.#caller.options.base);
    return protocol === "https:" || (base.protocol === "http:" && host === base.host);
  }

  /** True if an address may get the token: Slack's own hosts, such as `files.slack.com`. */
  #isSlacks(url: URL): boolean {
    const base = new URL(this.#caller.options.base);
    const isOurs = url.host === base.host || url.hostname.endsWith(`.${base.hostname}`);
    return isOurs && this.#isSafe(url);
  }
}

/** Without the right to read files, Slack redirects to a page for signing in. */
function toDownloadError(status: number): SlackApiError {
  if (status === 429 || status >= 500) {
    return new SlackApiError(status === 429 ? "rate_limited" : "unclear", `HTTP ${status}`);
  }
  const isSignIn = status < 400;
  return isSignIn
    ? new SlackApiError("forbidden", "the app needs the scope files:read")
    : new SlackApiError("bad_request", `HTTP ${status}`);
}

function transferMs(bytes: number): number {
  return TRANSFER_MS_MIN + Math.ceil(bytes / TRANSFER_BYTES_PER_SECOND) * 1000;
}
