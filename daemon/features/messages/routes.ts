/** Routes of deliveries, traces, the message log and attachments, which are streamed. */

import { OK } from "kit/http/contract.ts";
import type { Context } from "../../data/context.ts";
import { rawRoute, type Route, route } from "kit/http/route.ts";
import * as contracts from "protocol/messages/contract.ts";
import type { DeliveryAudit } from "./ledger/audit.ts";
import type { Directory } from "../peers/directory.ts";
import type { Handover } from "./handover.ts";
import { traceOf } from "./ledger/traces.ts";
import { getMessage, listMessages } from "protocol/messages/log.ts";
import type { Messages } from "./log/message_log.ts";
import * as z from "zod";
import { toContentDisposition } from "kit/http/filenames.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { type Attachments, refuseTooLarge } from "./attachments/attachments.ts";
import {
  Attachment,
  deleteAttachment,
  getAttachment,
  HANDOFF_TYPE,
  uploadAttachment,
} from "protocol/messages/attachments.ts";
import { boundaryOf } from "./attachments/multipart.ts";

interface MessageRoutesDeps {
  readonly ctx: Context;
  readonly deliveryAudit: DeliveryAudit;
  readonly directory: Directory;
  readonly handover: Handover;
  readonly messages: Messages;
}

export function messageRoutes(
  { ctx, deliveryAudit, directory, handover, messages }: MessageRoutesDeps,
): Route[] {
  return [
    route(contracts.getTrace, ({ params }) => traceOf(ctx, params.trace_id)),
    route(contracts.drainDeliveries, ({ query }) => {
      const { peer_id, pane_id, tmux_socket, max_results } = query;
      const target_id = pane_id
        ? directory.findByPane(pane_id, tmux_socket).peer_id
        : directory.find(peer_id ?? "").peer_id;
      return handover.lease(target_id, max_results);
    }),
    route(contracts.settleDeliveries, ({ body }) => {
      handover.settle(body);
      return OK;
    }),
    route(contracts.listDeliveries, async ({ query }) => {
      const { state = null, limit } = query;
      const peer_id = query.peer_id ? directory.findAnywhere(query.peer_id).peer_id : null;
      const deliveries = await deliveryAudit.list({ peer_id, state, limit });
      return { deliveries, ...await deliveryAudit.audit({ peer_id, state }) };
    }),
    route(listMessages, ({ query }) => messages.page(query)),
    route(getMessage, ({ params }) => messages.mustGet(params.id)),
  ];
}

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

/** The boundary of the request's form. Throws `unsupported_media` for another media type. */
function mustHaveBoundary(request: Request): string {
  const found = request.headers.get("content-type") ?? "";
  const boundary = boundaryOf(found);
  if (boundary !== undefined) return boundary;
  const media = uploadAttachment.bodyType;
  throw new Problem("unsupported_media", { found: found.slice(0, 255), media });
}
