/** Routes through which daemons connect, and browsers and programs reach the daemons. */

import { METRICS_TYPE } from "kit/http/metrics.ts";
import { invalidField, UNCACHED_HEADERS } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route, toJsonResponse } from "kit/http/route.ts";
import type { ConnectionListener } from "kit/net/tunnel/connection.ts";
import { type AddressRateLimit, enforceRateLimit } from "../web/rate_limiter.ts";
import { isLocal } from "../web/client_address.ts";
import { bearerNamespace } from "../web/secrets.ts";
import * as contracts from "protocol/relay/daemons.ts";
import { DaemonId } from "protocol/relay/daemons.ts";
import type { AcceptedUpgrade, MachineRegistry } from "./machine_registry.ts";
import type { RelayMetrics } from "./metrics.ts";
import { type ProxyDeps, proxyToMachine } from "./proxy.ts";

export interface TunnelDeps extends ProxyDeps {
  readonly machines: MachineRegistry;
  readonly metrics: RelayMetrics;
  /** Rate limits for connecting a daemon from one address. */
  readonly dials: {
    readonly withSecret: AddressRateLimit;
    readonly withoutSecret: AddressRateLimit;
  };
  /** The client's address, in the form that the rate limits count. */
  rateLimitKeyOf(request: Request, remote: Remote): string;
  /** Upgrades a request to a WebSocket connection. */
  readonly accept: Accept;
}

type Remote = Deno.NetAddr | undefined;

export type Accept = (request: Request, listener: ConnectionListener) => AcceptedUpgrade;

export function tunnelRoutes(deps: TunnelDeps): Route[] {
  const { machines, metrics, sessions } = deps;
  return [
    rawRoute(
      contracts.connectTunnel,
      (request, { remote }) => connectDaemon(deps, request, remote),
    ),
    rawRoute(contracts.listDaemons, (request) => {
      const bearer = bearerNamespace(request);
      const namespace = bearer ?? sessions.namespaceOf(request);
      if (namespace === undefined) throw new Problem("no_relay_secret", {});
      if (bearer === undefined) sessions.refuseOtherSession(request);
      return toJsonResponse(contracts.listDaemons, { daemons: machines.list(namespace) });
    }),
    ...contracts.proxyContracts.map((contract) =>
      rawRoute(
        contract,
        (request, _caller, { daemon_id = "" }) => proxyToMachine(deps, request, daemon_id),
      )
    ),
    rawRoute(contracts.getRelayMetrics, (request, { remote }) => {
      // The metrics are for the operator only. A proxy in front of the relay may not block the
      // path, so the origin of the request is checked here.
      if (remote && !isLocal(remote.hostname, request.headers)) {
        throw new Problem("not_found", { method: request.method, path: "/metrics" });
      }
      return new Response(metrics.render(), {
        headers: { ...UNCACHED_HEADERS, "content-type": METRICS_TYPE },
      });
    }),
  ];
}

/** Checks the secret before the upgrade. The secret appears in no URL and in no frame. */
function connectDaemon(
  { machines, dials, rateLimitKeyOf, accept }: TunnelDeps,
  request: Request,
  remote: Remote,
): Response {
  const namespace = bearerNamespace(request);
  const limit = namespace === undefined ? dials.withoutSecret : dials.withSecret;
  enforceRateLimit(limit, request, remote);
  if (namespace === undefined) throw new Problem("no_relay_secret", {});
  const daemon_id = DaemonId.safeParse(request.headers.get("x-mesh-daemon-id"));
  if (!daemon_id.success) {
    throw invalidField("x-mesh-daemon-id", daemon_id.error.issues[0]?.message ?? "");
  }
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new Problem("upgrade_required", {});
  }
  const address = rateLimitKeyOf(request, remote);
  const identity = { namespace, daemon_id: daemon_id.data, address };
  machines.refuseIfFull(identity);
  return machines.connect(identity, (listener) => accept(request, listener));
}
