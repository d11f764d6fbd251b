/** Routes to machines: daemons connect to them, and browsers and programs reach daemons by them. */

import type { Contract } from "kit/http/contract.ts";
import { METRICS_TYPE } from "kit/http/metrics.ts";
import { Problem, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { rawRoute, type Route } from "kit/http/route.ts";
import type { ConnectionListener } from "kit/net/tunnel/connection.ts";
import * as z from "zod";
import { type AddressRateLimit, enforceRateLimit } from "../web/net/rate_limiter.ts";
import * as contracts from "./contract.ts";
import { DaemonId, Machine, type Sessions } from "./contract.ts";
import type { Accepted, MachineRegistry } from "./machine_registry.ts";
import type { RelayMetrics } from "./metrics.ts";
import { proxyToMachine } from "./proxy.ts";

export interface TunnelDeps {
  readonly machines: MachineRegistry;
  readonly metrics: RelayMetrics;
  readonly sessions: Sessions;
  /** The namespace of the bearer secret of a request; undefined without one. */
  bearerOf(request: Request): string | undefined;
  /** Whether the browser's headers prove that a page of the relay sends the request. */
  isFromOurPage(request: Request): boolean;
  /** Whether a program on this machine sends the request without a proxy. */
  isLocal(request: Request, remote: Remote): boolean;
  /** Limits how often one address may connect a daemon. */
  readonly dials: {
    readonly withSecret: AddressRateLimit;
    readonly withoutSecret: AddressRateLimit;
  };
  /** The client's address as the rate limits count it. */
  rateLimitKeyOf(request: Request, remote: Remote): string;
  /** Upgrades a request to a connection. */
  readonly accept: Accept;
  readonly signal: AbortSignal;
}

type Remote = Deno.NetAddr | undefined;

export type Accept = (request: Request, listener: ConnectionListener) => Accepted;

const PROXY_CONTRACTS: readonly Contract[] = [
  contracts.proxyGet,
  contracts.proxyPost,
  contracts.proxyPatch,
  contracts.proxyDelete,
];

export function tunnelRoutes(deps: TunnelDeps): Route[] {
  const { machines, metrics, sessions, bearerOf, isLocal } = deps;
  return [
    rawRoute(
      contracts.connectTunnel,
      (request, { remote }) => connectDaemon(deps, request, remote),
    ),
    rawRoute(contracts.listDaemons, (request) => {
      const bearer = bearerOf(request);
      const namespace = bearer ?? sessions.namespaceOf(request);
      if (namespace === undefined) throw new Problem("no_relay_secret", {});
      if (bearer === undefined) sessions.refuseOtherSession(request);
      const daemons = machines.list(namespace).map((machine) => z.encode(Machine, machine));
      return Response.json({ daemons }, { headers: UNCACHED_HEADERS });
    }),
    ...PROXY_CONTRACTS.map((contract) =>
      rawRoute(
        contract,
        (request, _caller, { daemon_id = "" }) => proxyToMachine(deps, request, daemon_id),
      )
    ),
    rawRoute(contracts.getRelayMetrics, (request, { remote }) => {
      // Metrics are for the operator only, even behind a proxy that does not hide the path.
      if (!isLocal(request, remote)) {
        throw new Problem("not_found", { method: request.method, path: "/metrics" });
      }
      return new Response(metrics.render(), {
        headers: { ...UNCACHED_HEADERS, "content-type": METRICS_TYPE },
      });
    }),
  ];
}

/** The secret is checked before the upgrade. It is in no URL and in no frame. */
function connectDaemon(
  { machines, bearerOf, dials, rateLimitKeyOf, accept }: TunnelDeps,
  request: Request,
  remote: Remote,
): Response {
  const namespace = bearerOf(request);
  const limit = namespace === undefined ? dials.withoutSecret : dials.withSecret;
  enforceRateLimit(limit, request, remote);
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
  const address = rateLimitKeyOf(request, remote);
  const identity = { namespace, daemon_id: daemon_id.data, address };
  machines.refuseIfFull(identity);
  return machines.connect(identity, (listener) => accept(request, listener));
}
