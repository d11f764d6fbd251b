/** What goes through the tunnel: what a dashboard and the relay's tools call, and nothing else. */

import type { Contract } from "kit/contract.ts";
import { Problem } from "kit/problem.ts";
import type { Caller } from "kit/route.ts";
import type { RequestHead } from "kit/tunnel/frames.ts";

/** `admin`: only with `relay.allow_admin`, for it starts, ends or moves into a process. */
export type Passage = "open" | "admin";

/**
 * A route that is not here does not go through. Never: `/mcp`, `/metrics`, `/openapi.json`,
 * `/deliveries/*`, `/peers/identity/*`, `/events/chat`, `/peers/{id}/turn` (contract 9).
 */
// deno-fmt-ignore
const PASSAGES: readonly (readonly [method: Contract["method"], path: string, Passage])[] = [
  ["GET",    "/health",                  "open" ],
  ["GET",    "/status",                  "open" ],
  ["GET",    "/peers",                   "open" ],
  ["GET",    "/peers/:id",               "open" ],
  ["DELETE", "/peers/:id",               "open" ],
  ["POST",   "/peers/:id/name",          "open" ],
  ["GET",    "/peers/:id/doctor",        "open" ],
  ["GET",    "/peers/:id/restart",       "open" ],
  ["GET",    "/panes/orphans",           "open" ],
  ["POST",   "/ask",                     "open" ],
  ["POST",   "/ack",                     "open" ],
  ["POST",   "/decline",                 "open" ],
  ["POST",   "/answer",                  "open" ],
  ["GET",    "/asks",                    "open" ],
  ["GET",    "/asks/:id",                "open" ],
  ["POST",   "/asks/:id/cancel",         "open" ],
  ["POST",   "/asks/:id/wait",           "open" ],
  ["GET",    "/asks/pending",            "open" ],
  ["GET",    "/asks/history",            "open" ],
  ["POST",   "/asks/many",               "open" ],
  ["GET",    "/asks/many/:parent_id",    "open" ],
  ["POST",   "/notify",                  "open" ],
  ["POST",   "/broadcast",               "open" ],
  ["GET",    "/messages",                "open" ],
  ["GET",    "/messages/:id",            "open" ],
  ["GET",    "/traces/:trace_id",        "open" ],
  ["GET",    "/inbox",                   "open" ],
  ["GET",    "/inbox/:id",               "open" ],
  ["POST",   "/inbox/:id/read",          "open" ],
  ["POST",   "/inbox/:id/reply",         "open" ],
  ["POST",   "/inbox/reply",             "open" ],
  ["GET",    "/events",                  "open" ],
  ["GET",    "/events/stream",           "open" ],
  ["POST",   "/attachments",             "open" ],
  ["GET",    "/attachments/:id",         "open" ],
  ["DELETE", "/attachments/:id",         "open" ],
  ["GET",    "/jobs",                    "open" ],
  ["GET",    "/jobs/:id",                "open" ],
  ["GET",    "/jobs/:id/status",         "open" ],
  ["GET",    "/jobs/:id/result",         "open" ],
  ["POST",   "/jobs/:id/cancel",         "open" ],
  ["POST",   "/jobs/:id/pause",          "open" ],
  ["GET",    "/schedules",               "open" ],
  ["POST",   "/schedules",               "open" ],
  ["GET",    "/schedules/:id",           "open" ],
  ["PATCH",  "/schedules/:id",           "open" ],
  ["DELETE", "/schedules/:id",           "open" ],
  ["GET",    "/shares",                  "open" ],
  ["POST",   "/shares",                  "open" ],
  ["DELETE", "/shares/:id",              "open" ],
  ["GET",    "/spawn/config",            "open" ],
  ["POST",   "/spawn",                   "admin"],
  // A job may start an agent; so may a template that goes on, and a report of "completed" runs checks.
  ["POST",   "/jobs",                    "admin"],
  ["PATCH",  "/jobs/:id",                "admin"],
  ["POST",   "/jobs/:id/resume",         "admin"],
  ["POST",   "/jobs/:id/run",            "admin"],
  ["POST",   "/jobs/:id/retry",          "admin"],
  ["POST",   "/peers/:id/kill",          "admin"],
  ["POST",   "/peers/:id/restart",       "admin"],
  ["DELETE", "/peers/:id/restart",       "admin"],
  ["POST",   "/peers/:id/fork-backend",  "admin"],
  ["POST",   "/peers/:id/link",          "admin"],
  ["POST",   "/panes/:pane_id/link",     "admin"],
  ["POST",   "/peers/:id/rehook",        "admin"],
];

const BY_ROUTE = new Map(PASSAGES.map(([method, path, passage]) => [`${method} ${path}`, passage]));

/** How a route goes through; undefined when it does not. */
export function passageOf({ method, path }: Pick<Contract, "method" | "path">) {
  return BY_ROUTE.get(`${method} ${path}`);
}

/** The routes of the list, for whoever shows it. */
export const THROUGH: readonly string[] = [...BY_ROUTE.keys()];

/**
 * Who calls through the tunnel. The tunnel itself is the authority: we dialled the relay, and it
 * lets in nobody who does not hold our secret, so no token is asked for, nor an exemption made.
 * A signed-in browser on a page of the relay is a door of the human, as the dashboard here is; MCP,
 * shares and programs are none, nor is whatever says nothing of where it comes from.
 */
export function admitThrough(
  { contract, door, allow_admin }: {
    contract: Contract;
    door: RequestHead["door"];
    allow_admin: boolean;
  },
): Caller {
  const { method, path } = contract;
  const passage = passageOf(contract);
  if (passage === undefined) throw new Problem("not_through_relay", { method, path });
  if (passage === "admin" && !allow_admin) throw new Problem("relay_admin_off", { method, path });
  return { remote: undefined, human: door === "browser", authorized: true, holds_token: false };
}
