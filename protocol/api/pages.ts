/** The dashboard page, and how a browser gets the cookie for its calls (contract 10). */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";

/** The cookie of a browser on one of our pages; stored as a digest. */
export const PAGE_COOKIE = "mesh_page";

const page = { access: "user", tunnel: "never", returns: z.string() } as const;

export const showDashboard = contract({
  ...page,
  id: "pages.dashboard",
  method: "GET",
  path: "/dashboard",
  summary: "The dashboard; sets its cookie on a top-level navigation of the daemon's user",
  responseType: "text/html",
});

/** Where people look for the dashboard. Its relative addresses need `/dashboard` itself. */
export const redirectRoot = contract({
  ...page,
  id: "pages.root",
  method: "GET",
  path: "/dashboard/",
  described_path: "/",
  summary: "Leads to the dashboard",
  redirects_to: "/dashboard",
});

export const getAsset = contract({
  ...page,
  id: "pages.asset",
  method: "GET",
  path: "/dashboard/assets/:name",
  summary: "A file of the dashboard; its name changes with its content",
  params: z.object({ name: z.string() }),
  responseType: "text/javascript",
  fails: ["not_found"],
});

export const getManifest = contract({
  ...page,
  id: "pages.manifest",
  method: "GET",
  path: "/dashboard/manifest.webmanifest",
  summary: "What a browser needs to install the dashboard as an app",
  responseType: "application/manifest+json",
});

export const getWorker = contract({
  ...page,
  id: "pages.worker",
  method: "GET",
  path: "/dashboard/worker.js",
  summary: "The service worker, which opens the dashboard while the daemon is down",
  responseType: "text/javascript",
});

export const createTicket = contract({
  id: "pages.ticket",
  method: "POST",
  path: "/dashboard/tickets",
  summary: "Create a ticket with which one browser speaks as the human; only for a person",
  access: "caller",
  tunnel: "never",
  returns: z.object({
    /** Valid once, for 60 seconds. */
    ticket: z.string(),
    expires_at: Instant,
  }),
  fails: ["human_not_proven", "no_human"],
});

const PageState = z.object({
  /** True if requests of this page count as the human's. */
  human: z.boolean(),
  /** The human's name; null if none is registered. */
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

export const endPage = contract({
  id: "pages.sign_out",
  method: "DELETE",
  path: "/dashboard/session",
  summary:
    "Forget this page's cookie; the page then neither speaks as the human nor calls anything",
  access: "user",
  tunnel: "never",
  returns: Ok,
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
