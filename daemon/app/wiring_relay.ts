/** What this daemon has with a relay: the tunnel to its own routes, and the shares made there. */

import { type Contract, VERSION } from "kit/http/contract.ts";
import { Problem } from "kit/core/problem.ts";
import { type Caller, type Route, serve } from "kit/http/route.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import type { Daemon } from "./daemon.ts";
import { Shares } from "../features/shares/shares.ts";
import { CAPABILITIES, RelayClient } from "../api/relay/relay_client.ts";
import {
  answerTunnelRequest,
  RequestScheduler,
  type TunnelRoutes,
} from "../api/relay/tunnel_requests.ts";

/** Undefined when no relay is configured: then nothing is dialled. */
export function openRelayClient(house: Daemon, routes: readonly Route[]): RelayClient | undefined {
  const { config, ctx, identity, platform } = house;
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  const { openSocket } = platform;
  if (!enabled || !url || !secret || !openSocket) return undefined;
  const tunnelRoutes: TunnelRoutes = {
    browser: tunnelRoutesFor(house, routes, "browser"),
    program: tunnelRoutesFor(house, routes, "program"),
  };
  const turns = new RequestScheduler();
  const answer = answerTunnelRequest.bind(undefined, { tunnelRoutes: tunnelRoutes, log: ctx.log });
  const { daemon_id } = identity;
  const hello = { machine: platform.machine, version: VERSION, capabilities: CAPABILITIES };
  return new RelayClient(ctx, { url, secret, daemon_id, hello }, {
    openSocket,
    onRequest: (trunk, onRequest) =>
      turns.schedule(onRequest.stream, () => void answer(trunk, onRequest)),
  });
}

export function openShares({ config, identity, platform, directory, ctx }: Daemon): Shares {
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  const { daemon_id } = identity;
  const { send } = platform;
  const relay = enabled && url && secret
    ? { url, secret: secret.reveal(), daemon_id, send }
    : undefined;
  const resolve = (argument: string) => directory.find(argument);
  return new Shares({ clock: ctx.clock, relay, resolve });
}

/** Host and Origin are the relay's to look at: what comes through has neither. */
function tunnelRoutesFor(house: Daemon, routes: readonly Route[], origin: RequestHead["door"]) {
  const { db, log } = house.ctx;
  const allow_admin = house.config["relay.allow_admin"];
  return serve(routes, {
    admit: () => {
      if (house.shutdownSignal.aborted) throw new Problem("shutting_down", {});
    },
    authorize: (_request, contract) => admit(contract, { origin, allow_admin }),
    whenDurable: () => db.whenDurable(),
    idempotencyStore: house.idempotency,
    error: (error) => log.error("A route failed", { error }),
  });
}

/**
 * Who calls through the tunnel. The tunnel itself is the authority: the daemon has dialled the
 * relay, which lets in nobody who does not hold its secret, so no token is asked for. A signed-in
 * browser on a page of the relay speaks as the human. MCP clients, shares and programs do not.
 */
function admit(
  { method, path, tunnel }: Contract,
  { origin, allow_admin }: { origin: RequestHead["door"]; allow_admin: boolean },
): Caller {
  if (tunnel === "never") throw new Problem("not_through_relay", { method, path });
  if (tunnel === "admin" && !allow_admin) throw new Problem("relay_admin_off", { method, path });
  return { remote: undefined, human: origin === "browser", authorized: true, holds_token: false };
}
