/** The dashboard's routes. */

import type { Context } from "../../data/context.ts";
import * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { type Caller, rawRoute, readBodyOf, type Route, route } from "kit/http/route.ts";
import { BODY_BYTES_MAX, readBody } from "kit/http/body.ts";
import { tryJson } from "kit/core/text.ts";
import type { Directory } from "../../features/peers/directory.ts";
import type { Callers } from "../callers/callers.ts";
import * as contracts from "protocol/api/pages.ts";
import * as deviceContracts from "protocol/api/devices.ts";
import { DEVICE_MS, deviceCookie, type PairedDevices } from "./devices.ts";
import type { PageMachine } from "../../../dashboard/files/responses.ts";
import type { Pages } from "./pages.ts";
import type { PhoneAddresses } from "./phone_addresses.ts";

/** The dashboard's files are loaded at a browser's first request: most daemons rarely need them. */
const loadFiles = () => import("../../../dashboard/files/responses.ts");
const loadPairPage = () => import("../../../dashboard/files/pair.ts");

interface PageRoutesDeps {
  readonly callers: Callers;
  readonly ctx: Context;
  readonly directory: Directory;
  readonly pages: Pages;
  readonly devices: PairedDevices;
  readonly machine: PageMachine;
  /** Where a phone can reach this daemon. */
  readonly phoneAddresses: PhoneAddresses;
}

export function pageRoutes(deps: PageRoutesDeps): Route[] {
  const { callers, ctx: { db }, devices, directory, machine, pages } = deps;
  const stateOf = (human: boolean) => ({ human, human_name: directory.human()?.name ?? null });
  const isProvenOwnUser = ({ remote }: Caller) => callers.canIdentify && callers.isOwnUser(remote);
  return [
    rawRoute(contracts.showDashboard, async (request, caller) => {
      const issueCookie = isTopLevel(request) && isProvenOwnUser(caller) && !caller.holds_token;
      const cookie = issueCookie ? pages.issueCookie(request) : undefined;
      await db.whenDurable();
      return (await loadFiles()).dashboardPage(request, machine, cookie);
    }),
    rawRoute(contracts.redirectRoot, toDashboard),
    rawRoute(contracts.getAsset, async (request) => (await loadFiles()).assetResponse(request)),
    rawRoute(
      contracts.getManifest,
      async (request) => (await loadFiles()).manifestResponse(request, machine),
    ),
    rawRoute(contracts.getWorker, async (request) => (await loadFiles()).workerResponse(request)),
    route(contracts.createTicket, ({ caller, headers }) => {
      if (!directory.human()) throw new Problem("no_human", {});
      if (!callers.mayOpenPage(caller, headers)) throw new Problem("human_not_proven", {});
      return pages.ticket();
    }),
    rawRoute(contracts.redeemTicket, async (request, caller) => {
      if (callers.isAgent(caller)) throw new Problem("ticket_refused", {});
      const { ticket } = await bodyOf(contracts.redeemTicket.body, request);
      const cookie = pages.redeem(ticket, request);
      await db.whenDurable();
      return Response.json(z.encode(contracts.redeemTicket.returns, stateOf(true)), {
        headers: { ...UNCACHED_HEADERS, "set-cookie": cookie },
      });
    }),
    rawRoute(contracts.endPage, async (request, { device_id }) => {
      const headers = new Headers({ ...UNCACHED_HEADERS, "set-cookie": pages.end(request) });
      if (device_id !== undefined) {
        devices.remove(device_id);
        headers.append("set-cookie", deviceCookie("", 0, isOverHttps(request)));
      }
      await db.whenDurable();
      return Response.json(OK, { headers });
    }),
    route(contracts.getPage, ({ caller }) => stateOf(caller.human)),
    ...deviceRoutes(deps),
  ];
}

function deviceRoutes(
  { callers, ctx: { db }, devices, directory, phoneAddresses }: PageRoutesDeps,
) {
  const mustBePerson = ({ caller, headers }: { caller: Caller; headers: Headers }) => {
    if (!callers.isHuman(caller, headers)) throw new Problem("human_not_proven", {});
  };
  return [
    route(deviceContracts.createCode, async (request) => {
      mustBePerson(request);
      if (!directory.human()) throw new Problem("no_human", {});
      const { code, digest, expires_at } = devices.createCode();
      return { code, expires_at, ...await phoneAddresses.of({ code, digest }) };
    }),
    rawRoute(deviceContracts.showPair, async () => (await loadPairPage()).pairPage()),
    rawRoute(deviceContracts.pairDevice, async (request, caller) => {
      const body = await bodyOf(deviceContracts.pairDevice.body, request);
      // A page of ours sends it; a program has no use for a cookie.
      if (request.headers.get("origin") === null || callers.isAgent(caller)) {
        throw new Problem("code_refused", {});
      }
      const { token } = devices.redeem(body, "daemon");
      await db.whenDurable();
      const cookie = deviceCookie(token, DEVICE_MS / 1000, isOverHttps(request));
      const headers = { ...UNCACHED_HEADERS, "set-cookie": cookie };
      return Response.json({ page: "/dashboard" }, { headers });
    }),
    route(deviceContracts.redeemCode, ({ body, caller }) => {
      // Only the relay itself calls this: a page would get to see the token.
      if (caller.via !== "relay" || caller.human) {
        const { method, path } = deviceContracts.redeemCode;
        throw new Problem("not_from_elsewhere", { method, path });
      }
      const { device_id, token, expires_at } = devices.redeem(body, "relay");
      return { device_id, token, expires_at };
    }),
    route(deviceContracts.listDevices, (request) => {
      mustBePerson(request);
      return { devices: devices.list(request.caller.device_id) };
    }),
    route(deviceContracts.removeDevice, (request) => {
      mustBePerson(request);
      devices.remove(request.params.id);
      return OK;
    }),
    route(deviceContracts.ownDevice, ({ caller }) => ({ device_id: caller.device_id ?? null })),
  ];
}

function isOverHttps({ headers }: Request): boolean {
  return headers.get("origin")?.startsWith("https:") ?? false;
}

async function bodyOf<S extends z.ZodType>(schema: S, request: Request): Promise<z.output<S>> {
  const text = await readBody(request, BODY_BYTES_MAX);
  const json = text.trim() === "" ? {} : tryJson(text);
  if (json === undefined) throw new Problem("bad_json", { reason: "it cannot be parsed" });
  return readBodyOf(schema, json);
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
