/** The dashboard's routes. */

import type { Context } from "kit/data/context.ts";
import * as z from "zod";
import { invalidRequest, Problem } from "kit/core/problem.ts";
import {
  BODY_BYTES_MAX,
  type Caller,
  rawRoute,
  readBody,
  type Route,
  route,
} from "kit/http/route.ts";
import { tryJson } from "kit/core/text.ts";
import * as contracts from "./contract.ts";
import { dashboardPage } from "./html.ts";
import type { Pages } from "./pages.ts";

export interface PageRoutesDeps {
  readonly ctx: Pick<Context, "db">;
  readonly pages: Pages;
  /** The human's name; undefined if none is registered. */
  humanName(): string | undefined;
  /**
   * Whether a person sends the request, either at a terminal or from a page that the person opened
   * (contract 2).
   */
  isPerson(caller: Caller, headers: Headers): boolean;
  /** Whether the client's end of this connection is proved to belong to the daemon's user. */
  isOwnUser(caller: Caller): boolean;
  /**
   * Whether the client's end of this connection belongs to a registered agent or to a process that
   * the agent started.
   */
  isAgent(caller: Caller): boolean;
}

export function pageRoutes(deps: PageRoutesDeps): Route[] {
  const { ctx: { db }, pages } = deps;
  const stateOf = (human: boolean) => ({ human, human_name: deps.humanName() ?? null });
  return [
    rawRoute(contracts.showDashboard, async (request, caller) => {
      const issueCookie = isTopLevel(request) && deps.isOwnUser(caller) && !caller.holds_token;
      const cookie = issueCookie ? pages.issueCookie(request) : undefined;
      await db.whenDurable();
      return dashboardPage(cookie);
    }),
    route(contracts.createTicket, ({ caller, headers }) => {
      if (deps.humanName() === undefined) throw new Problem("no_human", {});
      if (!deps.isPerson(caller, headers)) throw new Problem("human_not_proven", {});
      return pages.ticket();
    }),
    rawRoute(contracts.redeemTicket, async (request, caller) => {
      if (deps.isAgent(caller)) throw new Problem("ticket_refused", {});
      const text = await readBody(request, BODY_BYTES_MAX);
      const json = text.trim() === "" ? {} : tryJson(text);
      if (json === undefined) throw new Problem("bad_json", { reason: "it cannot be parsed" });
      const body = contracts.redeemTicket.body.safeParse(json);
      if (!body.success) throw invalidRequest(body.error);
      const cookie = pages.redeem(body.data.ticket, request);
      await db.whenDurable();
      return Response.json(z.encode(contracts.redeemTicket.returns, stateOf(true)), {
        headers: {
          "set-cookie": cookie,
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
        },
      });
    }),
    route(contracts.getPage, ({ caller }) => stateOf(caller.human)),
  ];
}

/**
 * Whether the page was opened directly, and not by a link on another site. When browsers follow
 * such a link, they omit strict cookies.
 */
function isTopLevel({ headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  return headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document" &&
    (site === null || site === "none" || site === "same-origin");
}
