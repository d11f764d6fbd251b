/** Uploads files, each streamed from the disk, and names them to the messages that carry them. */

import { basename } from "node:path";
import { ApiError } from "kit/http/client.ts";
import { randomIds } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import {
  ATTACHMENTS_MAX,
  uploadAttachment,
} from "../../daemon/features/messages/attachments/contract.ts";
import { apiCommand, type Args, type CommandContext } from "../command/command.ts";
import { CommandError, UsageError } from "../client/failures.ts";
import { DaemonUnreachable } from "../client/daemon_client.ts";
import { print } from "../output/terminal.ts";
import type { Attachment } from "../output/attachments.ts";

export const ATTACH_FLAG = {
  "--attach <file> ...":
    "send this file along, or one uploaded before by its id; may be said again",
} as const;

export const ATTACH_COMMAND = apiCommand({
  usage: "attach <file>",
  summary: "Upload a file; messages carry it by the id that is printed",
  example: "mesh attach screenshot.png",
  call: (context, args) => uploadFile(context, args.text("file")),
  show: ({ id }, { terminal }) => print(terminal, id),
});

/** What `mesh attach` printed. */
const ATTACHMENT_ID = /^att-[0-9a-f]{32}$/;

/** Uploads what `--attach` names, in order, unless it is uploaded; nothing when it names nothing. */
export async function resolveAttachments(
  context: CommandContext,
  args: Args,
): Promise<{ attachments?: string[] }> {
  const paths = args.list("attach");
  if (paths.length === 0) return {};
  if (paths.length > ATTACHMENTS_MAX) {
    throw new UsageError(`--attach: at most ${ATTACHMENTS_MAX} files`);
  }
  const isAttachmentId = (path: string) => ATTACHMENT_ID.test(path);
  // Before any is sent, as a typing error sends none.
  for (const path of paths.filter((path) => !isAttachmentId(path))) mustBeFile(path);
  const attachments: string[] = [];
  for (const path of paths) {
    attachments.push(isAttachmentId(path) ? path : (await uploadFile(context, path)).id);
  }
  return { attachments };
}

async function uploadFile({ daemon }: CommandContext, path: string): Promise<Attachment> {
  mustBeFile(path);
  const file = await Deno.open(path).catch((error) => {
    throw unreadableFile(path, error);
  });
  const boundary = `mesh-${randomIds.hex(16)}`;
  const response = await daemon.get(uploadAttachment.path, {
    method: uploadAttachment.method,
    headers: { "content-type": `${uploadAttachment.bodyType}; boundary=${boundary}` },
    body: ReadableStream.from(multipartForm(basename(path), file.readable, boundary)),
  });
  const answer = await response.json().catch((error) => {
    throw new DaemonUnreachable(daemon.url, error);
  });
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

/** A form with one file in it, as it is read from the disk. */
async function* multipartForm(
  filename: string,
  content: ReadableStream<Uint8Array>,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const name = filename.replaceAll(/["\r\n]/g, (char) => encodeURIComponent(char));
  yield encoder.encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n` +
      `content-type: ${contentTypeOf(name)}\r\n\r\n`,
  );
  yield* content;
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}

function mustBeFile(path: string): void {
  try {
    if (Deno.statSync(path).isFile) return;
  } catch (error) {
    throw unreadableFile(path, error);
  }
  throw new CommandError(`"${path}" is no file`);
}

function unreadableFile(path: string, error: unknown): CommandError {
  return new CommandError(`Cannot read "${path}": ${messageOf(error)}`);
}

/** What agents and people send most; the rest is bytes. */
const CONTENT_TYPES = new Map(Object.entries({
  csv: "text/csv",
  gif: "image/gif",
  gz: "application/gzip",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  pdf: "application/pdf",
  png: "image/png",
  tar: "application/x-tar",
  txt: "text/plain",
  wav: "audio/wav",
  webp: "image/webp",
  zip: "application/zip",
}));

function contentTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return CONTENT_TYPES.get(extension) ?? "application/octet-stream";
}
