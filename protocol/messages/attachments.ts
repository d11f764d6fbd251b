/** Schemas and routes of attachments: files that messages carry by id. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";
import { tagAttributes } from "protocol/messages/frame_markers.ts";

/** Maximum number of files of one message. */
export const ATTACHMENTS_MAX = 20;

/**
 * An uploaded file (contract 2). `size` is in bytes. `path` is where agents on this machine read
 * it; it must not be sent to another machine.
 */
export const Attachment = z.object({
  id: z.string(),
  filename: z.string(),
  size: z.number().int(),
  content_type: z.string(),
  sha256: z.string(),
  path: z.string(),
  created_at: Instant,
  expires_at: Instant,
}).meta({ id: "Attachment" });
export type Attachment = z.output<typeof Attachment>;

/**
 * The media type of a hand-over. It holds data such as an agent's turns, which a relay gives only
 * to administrators.
 */
export const HANDOFF_TYPE = "text/vnd.mesh.handoff";

/** The files of a message, as they were when it was sent. */
export const Attachments = z.array(Attachment);
export type Attachments = z.output<typeof Attachments>;

/** The JSON form of attachments, for sockets and table rows. */
export function toWire(attachments: Attachments): z.input<typeof Attachments> {
  return z.encode(Attachments, attachments);
}

type TagFields = Pick<Attachment, "id" | "filename" | "size" | "content_type" | "path">;

/** The tag that shows an attachment in a message's frame (contract 5), as one escaped line. */
export function toTag({ id, filename, content_type, size, path }: TagFields): string {
  return `<attachment ${tagAttributes({ id, name: filename, type: content_type, size, path })}/>`;
}

const Id = z.string().max(64);

/**
 * The attachments of a request: ids, or objects that have an `id`, such as the response to an
 * upload.
 */
export const AttachmentRefs = z.array(
  z.union([Id, z.object({ id: Id })], "Give an id such as att-…, or an object with an id"),
).max(ATTACHMENTS_MAX).transform((refs) => [
  ...new Set(refs.map((ref) => typeof ref === "string" ? ref : ref.id)),
]);

export const uploadAttachment = contract({
  id: "attachments.upload",
  method: "POST",
  path: "/attachments",
  summary: "Upload one file in the field `file`; messages attach it by its id",
  access: "caller",
  tunnel: "open",
  bodyType: "multipart/form-data",
  returns: Attachment,
  fails: [
    "attachment_too_large",
    "unsupported_media",
    "bad_multipart",
    "invalid_request",
    "attachments_full",
    "too_many_uploads",
    "body_too_slow",
    "shutting_down",
  ],
});

export const getAttachment = contract({
  id: "attachments.get",
  method: "GET",
  path: "/attachments/:id",
  summary:
    "The bytes of a file, as a download; a hand-over through a relay needs relay.allow_admin",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: z.void(),
  responseType: "*/*",
  fails: ["attachment_not_found", "attachment_lost", "relay_admin_off"],
});

export const deleteAttachment = contract({
  id: "attachments.delete",
  method: "DELETE",
  path: "/attachments/:id",
  summary: "Delete a file; messages that carried it keep its record",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Ok,
  fails: ["attachment_not_found", "attachment_in_use"],
});
