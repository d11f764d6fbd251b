/** Routes of attachments. Uploads and downloads are streamed. */

import * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { toContentDisposition } from "kit/http/filenames.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route, route } from "kit/http/route.ts";
import { type Attachments, refuseTooLarge } from "./attachments.ts";
import {
  Attachment,
  deleteAttachment,
  getAttachment,
  HANDOFF_TYPE,
  uploadAttachment,
} from "protocol/messages/attachments.ts";
import { boundaryOf } from "./multipart.ts";

/** Make a browser download any file and execute none. */
const DOWNLOAD_HEADERS = {
  ...UNCACHED_HEADERS,
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
};

export function attachmentRoutes(attachments: Attachments): Route[] {
  return [
    rawRoute(uploadAttachment, async (request) => {
      refuseTooLarge(request.headers, attachments.limits.file_bytes_max);
      const attachment = await attachments.store(request.body, mustHaveBoundary(request));
      return Response.json(z.encode(Attachment, attachment), { headers: UNCACHED_HEADERS });
    }),
    rawRoute(getAttachment, async (request, { admin_refused }, { id = "" }) => {
      if (admin_refused && attachments.get(id)?.content_type === HANDOFF_TYPE) {
        throw new Problem("relay_admin_off", {
          method: request.method,
          path: `/attachments/${id}`,
        });
      }
      const { content_type, filename, size, sha256, body } = await attachments.open(id);
      const headers = {
        ...DOWNLOAD_HEADERS,
        "content-type": content_type,
        "content-length": String(size),
        "content-disposition": toContentDisposition(filename),
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

/**
 * Returns the boundary of the request's form. Throws `unsupported_media` for any other media type.
 */
function mustHaveBoundary(request: Request): string {
  const found = request.headers.get("content-type") ?? "";
  const boundary = boundaryOf(found);
  if (boundary !== undefined) return boundary;
  const media = uploadAttachment.bodyType;
  throw new Problem("unsupported_media", { found: found.slice(0, 255), media });
}
