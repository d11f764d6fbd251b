/** The doors to machines: daemons dial in, browsers and programs reach them. */

import type { Contract } from "kit/http/contract.ts";
import { METRICS_TYPE } from "kit/http/metrics.ts";
import { Problem } from "kit/core/problem.ts";
import { rawRoute, type Route } from "kit/http/route.ts";
import type { Ears } from "kit/net/tunnel/connection.ts";
import * as z from "zod";
import * as contracts from "./contract.ts";
import { DaemonId, Machine, type Sessions } from "./contract.ts";
import type { Accepted, Registry } from "./machines.ts";
import type { Meters } from "./metrics.ts";
import { throughTo } from "./proxy.ts";

export interface TunnelNeeds {
  readonly machines: Registry;
  readonly meters: Meters;
  readonly sessions: Sessions;
  /** The namespace of the bearer secret that a request holds; undefined without one. */
  bearerOf(request: Request): string | undefined;
  /** Whether a browser vouches that one of our own pages sends this. */
  isFromOurPage(request: Request): boolean;
  /** Whether a program on this machine sends this, and no proxy does. */
  isLocal(request: Request, remote: Remote): boolean;
  /** How often one address may dial. */
  readonly dials: { readonly with_secret: Pace; readonly without: Pace };
  /** The address of a visitor, as the rate limits count it. */
  addressOf(request: Request, remote: Remote): string;
  /** Turns a request into a line. */
  readonly accept: Accept;
  readonly signal: AbortSignal;
}

type Remote = Deno.NetAddr | undefined;

interface Pace {
  /** Counts this request; the seconds to wait where it is one too many. */
  take(request: Request, remote: Remote): number | undefined;
}

export type Accept = (request: Request, ears: Ears) => Accepted;

const THROUGH: readonly Contract[] = [
  contracts.getThrough,
  contracts.postThrough,
  contracts.patchThrough,
  contracts.deleteThrough,
];
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

export function tunnelRoutes(needs: TunnelNeeds): Route[] {
  const { machines, meters, sessions, bearerOf, isLocal } = needs;
  return [
    rawRoute(contracts.dialRelay, (request, { remote }) => dial(needs, request, remote)),
    rawRoute(contracts.listDaemons, (request) => {
      const bearer = bearerOf(request);
      const namespace = bearer ?? sessions.namespaceOf(request);
      if (namespace === undefined) throw new Problem("no_relay_secret", {});
      if (bearer === undefined) sessions.refuseOtherSession(request);
      const daemons = machines.list(namespace).map((machine) => z.encode(Machine, machine));
      return Response.json({ daemons }, { headers: HEADERS });
    }),
    ...THROUGH.map((contract) =>
      rawRoute(
        contract,
        (request, _caller, { daemon_id = "" }) => throughTo(needs, request, daemon_id),
      )
    ),
    rawRoute(contracts.getRelayMetrics, (request, { remote }) => {
      // Metrics are for the operator only; a proxy needs no rule of its own to hide them.
      if (!isLocal(request, remote)) {
        throw new Problem("not_found", { method: request.method, path: "/metrics" });
      }
      return new Response(meters.render(), {
        headers: { ...HEADERS, "content-type": METRICS_TYPE },
      });
    }),
  ];
}

/** The secret is looked at before the upgrade: it is in no URL, and in no frame. */
function dial(
  { machines, bearerOf, dials, addressOf, accept }: TunnelNeeds,
  request: Request,
  remote: Remote,
): Response {
  const namespace = bearerOf(request);
  const pace = namespace === undefined ? dials.without : dials.with_secret;
  const retry_after_seconds = pace.take(request, remote);
  if (retry_after_seconds !== undefined) {
    throw new Problem("too_many_requests", { retry_after_seconds });
  }
  if (namespace === undefined) throw new Problem("no_relay_secret", {});
  const daemon_id = DaemonId.safeParse(request.headers.get("x-mesh-daemon-id"));
  if (!daemon_id.success) {
    const issues = [{
      path: "x-mesh-daemon-id",
      message: daemon_id.error.issues[0]?.message ?? "",
    }];
    const summary = issues.map(({ path, message }) => `${path}: ${message}`).join();
    throw new Problem("invalid_request", { summary, issues });
  }
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new Problem("upgrade_required", {});
  }
  const address = addressOf(request, remote);
  const dialled = { namespace, daemon_id: daemon_id.data, address };
  machines.makeRoom(dialled);
  return machines.dialled(dialled, (ears) => accept(request, ears));
}
