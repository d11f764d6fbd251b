/** `mesh upload` and the `--attach` flag: uploads files, each streamed from disk. */

import { basename } from "kit/core/path.ts";
import type { WireResponse } from "kit/http/client.ts";
import { fileRefusal } from "kit/host/file_errors.ts";
import { messageOf } from "kit/core/text.ts";
import { ATTACHMENTS_MAX, type uploadAttachment } from "protocol/messages/attachments.ts";
import { uploadContent } from "../client/uploads.ts";
import { answerCommand, type CommandContext } from "../command/command.ts";
import { CommandError, UsageError } from "../client/failures.ts";

type Attachment = WireResponse<typeof uploadAttachment>;

export const UPLOAD_COMMAND = answerCommand({
  usage: "upload <file>",
  summary: "Upload a file and print its id, for use with --attach",
  example: "mesh upload screenshot.png",
  call: (context, args) => uploadFile(context, args.text("file")),
  show: ({ id }, { terminal }) => terminal.print(id),
});

/** The form of an attachment id, which `mesh upload` prints. */
const ATTACHMENT_ID = /^att-[0-9a-f]{32}$/;

/** Uploads the files in order and returns all ids. */
export async function uploadFiles(
  context: CommandContext,
  paths: readonly string[],
): Promise<string[]> {
  if (paths.length > ATTACHMENTS_MAX) {
    throw new UsageError(`--attach: at most ${ATTACHMENTS_MAX} files, not ${paths.length}`);
  }
  const isAttachmentId = (path: string) => ATTACHMENT_ID.test(path);
  // Checks all paths before the first upload, so that a mistyped path uploads nothing.
  for (const path of paths.filter((path) => !isAttachmentId(path))) mustBeFile(path);
  const attachments: string[] = [];
  for (const path of paths) {
    attachments.push(isAttachmentId(path) ? path : (await uploadFile(context, path)).id);
  }
  return attachments;
}

async function uploadFile({ daemon }: CommandContext, path: string): Promise<Attachment> {
  mustBeFile(path);
  const file = await Deno.open(path).catch((error) => {
    throw unreadableFile(path, error);
  });
  const filename = basename(path);
  const content_type = contentTypeOf(filename);
  return await uploadContent(daemon, { filename, content_type, content: file.readable });
}

function mustBeFile(path: string): void {
  try {
    if (Deno.statSync(path).isFile) return;
  } catch (error) {
    throw unreadableFile(path, error);
  }
  throw new CommandError(`"${path}" is not a file`);
}

function unreadableFile(path: string, error: unknown): CommandError {
  const refusal = fileRefusal(error);
  const why = refusal ? `${refusal.reason}; ${refusal.hint}` : messageOf(error);
  return new CommandError(`Cannot read "${path}": ${why}`);
}

/** Content types by extension; any other file is `application/octet-stream`. */
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
