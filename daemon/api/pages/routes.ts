/** The dashboard's routes. */

import type { Context } from "../../data/context.ts";
import * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { invalidRequest, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { type Caller, rawRoute, type Route, route } from "kit/http/route.ts";
import { BODY_BYTES_MAX, readBody } from "kit/http/body.ts";
import { tryJson } from "kit/core/text.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { Callers } from "../callers/callers.ts";
import * as contracts from "protocol/api/pages.ts";
import type { Pages } from "./pages.ts";

/** The dashboard's files are loaded at a browser's first request: most daemons rarely need them. */
const loadFiles = () => import("../../../dashboard/files/responses.ts");

interface PageRoutesDeps {
  readonly callers: Callers;
  readonly ctx: Context;
  readonly directory: Directory;
  readonly pages: Pages;
}

export function pageRoutes({ callers, ctx: { db }, directory, pages }: PageRoutesDeps): Route[] {
  const stateOf = (human: boolean) => ({ human, human_name: directory.human()?.name ?? null });
  const isProvenOwnUser = ({ remote }: Caller) => callers.canIdentify && callers.isOwnUser(remote);
  return [
    rawRoute(contracts.showDashboard, async (request, caller) => {
      const issueCookie = isTopLevel(request) && isProvenOwnUser(caller) && !caller.holds_token;
      const cookie = issueCookie ? pages.issueCookie(request) : undefined;
      await db.whenDurable();
      return (await loadFiles()).dashboardPage(request, cookie);
    }),
    rawRoute(contracts.redirectRoot, toDashboard),
    rawRoute(contracts.getAsset, async (request) => (await loadFiles()).assetResponse(request)),
    rawRoute(
      contracts.getManifest,
      async (request) => (await loadFiles()).manifestResponse(request),
    ),
    rawRoute(contracts.getWorker, async (request) => (await loadFiles()).workerResponse(request)),
    route(contracts.createTicket, ({ caller, headers }) => {
      if (!directory.human()) throw new Problem("no_human", {});
      if (!callers.mayOpenPage(caller, headers)) throw new Problem("human_not_proven", {});
      return pages.ticket();
    }),
    rawRoute(contracts.redeemTicket, async (request, caller) => {
      if (callers.isAgent(caller)) throw new Problem("ticket_refused", {});
      const text = await readBody(request, BODY_BYTES_MAX);
      const json = text.trim() === "" ? {} : tryJson(text);
      if (json === undefined) throw new Problem("bad_json", { reason: "it cannot be parsed" });
      const body = contracts.redeemTicket.body.safeParse(json);
      if (!body.success) throw invalidRequest(body.error);
      const cookie = pages.redeem(body.data.ticket, request);
      await db.whenDurable();
      return Response.json(z.encode(contracts.redeemTicket.returns, stateOf(true)), {
        headers: { ...UNCACHED_HEADERS, "set-cookie": cookie },
      });
    }),
    rawRoute(contracts.endPage, async (request) => {
      const cookie = pages.end(request);
      await db.whenDurable();
      return Response.json(OK, { headers: { ...UNCACHED_HEADERS, "set-cookie": cookie } });
    }),
    route(contracts.getPage, ({ caller }) => stateOf(caller.human)),
  ];
}

function toDashboard(): Response {
  return new Response(null, {
    status: 303,
    headers: { location: contracts.redirectRoot.redirects_to },
  });
}

/**
 * True if the page was opened directly, and not by a link on another site. When browsers follow
 * such a link, they omit strict cookies.
 */
function isTopLevel({ headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  return headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document" &&
    (site === null || site === "none" || site === "same-origin");
}
