/** The pages of the daemon: how a browser gets the cookie that it calls with (contract 10). */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Instant } from "kit/core/schema.ts";

/** The cookie of a browser on a page of ours; it is stored as a digest. */
export const PAGE_COOKIE = "mesh_page";

export const showDashboard = contract({
  id: "pages.dashboard",
  method: "GET",
  path: "/dashboard",
  summary: "The dashboard; a top-level navigation of the daemon's user gets its cookie",
  access: "user",
  tunnel: "never",
  returns: z.string(),
  responseType: "text/html",
});

export const createTicket = contract({
  id: "pages.ticket",
  method: "POST",
  path: "/dashboard/tickets",
  summary: "A ticket by which one browser speaks as the human; only a person gets one",
  access: "caller",
  tunnel: "never",
  returns: z.object({
    /** Good once, for 60 seconds. */
    ticket: z.string(),
    expires_at: Instant,
  }),
  fails: ["human_not_proven", "no_human"],
});

const PageState = z.object({
  /** Whether what this page sends is the human's. */
  human: z.boolean(),
  /** The human's name; null where none is registered. */
  human_name: z.string().nullable(),
});

export const redeemTicket = contract({
  id: "pages.redeem",
  method: "POST",
  path: "/dashboard/session",
  summary: "Exchange a ticket for the cookie of a page that speaks as the human",
  access: "user",
  tunnel: "never",
  body: z.object({ ticket: z.string().max(255) }),
  returns: PageState,
  fails: ["ticket_refused", "forbidden_origin"],
});

export const getPage = contract({
  id: "pages.session",
  method: "GET",
  path: "/dashboard/session",
  summary: "Whether this page speaks as the human",
  access: "caller",
  tunnel: "never",
  returns: PageState,
});
