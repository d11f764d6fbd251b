/** The attachments' contracts, each met by its verb; bytes come in and go out as streams. */

import { z } from "zod";
import { OK } from "kit/contract.ts";
import { Problem } from "kit/problem.ts";
import { rawRoute, type Route, route } from "kit/route.ts";
import type { Attachments } from "./attachments.ts";
import { Attachment, deleteAttachment, getAttachment, uploadAttachment } from "./contract.ts";
import { boundaryOf, partsOf } from "./multipart.ts";
import { disposition } from "./names.ts";

/** What a form may weigh beyond its file: boundaries, headers, fields that nobody reads. */
const FORM_BYTES_MAX = 65_536;

const PLAIN = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
/** Whatever the file is, a browser stores it and runs nothing of it. */
const AS_DOWNLOAD = {
  ...PLAIN,
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
};

export function attachmentRoutes(attachments: Attachments): Route[] {
  return [
    rawRoute(uploadAttachment, async (request) => {
      const attachment = await attachments.take(formOf(request, attachments.limits.file_bytes_max));
      return Response.json(z.encode(Attachment, attachment), { headers: PLAIN });
    }),
    rawRoute(getAttachment, async (request, _, { id = "" }) => {
      const { content_type, filename, size, sha256, body } = await attachments.open(id);
      const headers = {
        ...AS_DOWNLOAD,
        "content-type": content_type,
        "content-length": String(size),
        "content-disposition": disposition(filename),
        "repr-digest": `sha-256=:${Uint8Array.fromHex(sha256).toBase64()}:`,
      };
      if (request.method !== "HEAD") return new Response(body, { headers });
      await body.cancel();
      return new Response(null, { headers });
    }),
    route(deleteAttachment, ({ params }) => {
      attachments.delete(params.id);
      return OK;
    }),
  ];
}

/** The parts of a request's form. What is too large by its own word is refused unread. */
function formOf(request: Request, bytes_max: number) {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > bytes_max + FORM_BYTES_MAX) {
    throw new Problem("attachment_too_large", { bytes_max });
  }
  const found = request.headers.get("content-type") ?? "";
  const boundary = boundaryOf(found);
  if (boundary === undefined) {
    const media = uploadAttachment.takes;
    throw new Problem("unsupported_media", { found: found.slice(0, 255), media });
  }
  return partsOf(bounded(request.body, bytes_max), boundary);
}

/** A body, as long as it has no more bytes than a file and its form may have. */
async function* bounded(
  body: ReadableStream<Uint8Array> | null,
  bytes_max: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > bytes_max + FORM_BYTES_MAX) {
      throw new Problem("attachment_too_large", { bytes_max });
    }
    yield chunk;
  }
}
