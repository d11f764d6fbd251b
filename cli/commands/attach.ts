/** Uploads files, each streamed from the disk, and names them to the messages that carry them. */

import { basename } from "node:path";
import { Refused } from "kit/http/client.ts";
import { randomIds } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import {
  ATTACHMENTS_MAX,
  uploadAttachment,
} from "../../daemon/features/messages/attachments/contract.ts";
import { type Session, verb, type Words } from "../command/command.ts";
import { Failed, Misused } from "../client/failures.ts";
import { Unreachable } from "../client/daemon_client.ts";
import { print } from "../output/print.ts";
import type { Uploaded } from "../output/attachments.ts";

export const ATTACH_FLAG = {
  "--attach <file> ...":
    "send this file along, or one uploaded before by its id; may be said again",
} as const;

export const ATTACH_COMMAND = verb({
  words: "attach <file>",
  summary: "Upload a file; messages carry it by the id that is printed",
  example: "mesh attach screenshot.png",
  call: (session, words) => upload(session, words.text("file")),
  show: ({ id }, { terminal }) => print(terminal, id),
});

/** What `mesh attach` printed. */
const UPLOADED = /^att-[0-9a-f]{32}$/;

/** Uploads what `--attach` names, in order, unless it is uploaded; nothing when it names nothing. */
export async function attached(
  session: Session,
  words: Words,
): Promise<{ attachments?: string[] }> {
  const paths = words.list("attach");
  if (paths.length === 0) return {};
  if (paths.length > ATTACHMENTS_MAX) {
    throw new Misused(`--attach: at most ${ATTACHMENTS_MAX} files`);
  }
  const isUploaded = (path: string) => UPLOADED.test(path);
  // Before any is sent, as a typing error sends none.
  for (const path of paths.filter((path) => !isUploaded(path))) mustBeFile(path);
  const attachments: string[] = [];
  for (const path of paths) {
    attachments.push(isUploaded(path) ? path : (await upload(session, path)).id);
  }
  return { attachments };
}

async function upload({ daemon }: Session, path: string): Promise<Uploaded> {
  mustBeFile(path);
  const file = await Deno.open(path).catch((fault) => {
    throw unreadable(path, fault);
  });
  const boundary = `mesh-${randomIds.hex(16)}`;
  const response = await daemon.get(uploadAttachment.path, {
    method: uploadAttachment.method,
    headers: { "content-type": `${uploadAttachment.takes}; boundary=${boundary}` },
    body: ReadableStream.from(formOf(basename(path), file.readable, boundary)),
  });
  const answer = await response.json().catch((fault) => {
    throw new Unreachable(daemon.url, fault);
  });
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

/** A form with one file in it, as it is read from the disk. */
async function* formOf(
  filename: string,
  content: ReadableStream<Uint8Array>,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  const utf8 = new TextEncoder();
  const name = filename.replaceAll(/["\r\n]/g, (char) => encodeURIComponent(char));
  yield utf8.encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n` +
      `content-type: ${typeOf(name)}\r\n\r\n`,
  );
  yield* content;
  yield utf8.encode(`\r\n--${boundary}--\r\n`);
}

function mustBeFile(path: string): void {
  try {
    if (Deno.statSync(path).isFile) return;
  } catch (fault) {
    throw unreadable(path, fault);
  }
  throw new Failed(`"${path}" is no file`);
}

function unreadable(path: string, fault: unknown): Failed {
  return new Failed(`Cannot read "${path}": ${messageOf(fault)}`);
}

/** What agents and people send most; the rest is bytes. */
const TYPES = new Map(Object.entries({
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

function typeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return TYPES.get(extension) ?? "application/octet-stream";
}
