/** What this daemon has with a relay: the tunnel to its own routes, and the shares made there. */

import { type Contract, VERSION } from "kit/http/contract.ts";
import { Problem } from "kit/core/problem.ts";
import { type Caller, type Route, serve } from "kit/http/route.ts";
import type { RequestHead } from "kit/net/tunnel/frames.ts";
import type { Daemon } from "./daemon.ts";
import { Shares } from "../features/shares/shares.ts";
import { CAPABILITIES, Uplink } from "../api/relay/relay_client.ts";
import { answerThrough, type Inside, Turns } from "../api/relay/answers.ts";

/** Undefined when no relay is configured: then nothing is dialled. */
export function openUplink(house: Daemon, routes: readonly Route[]): Uplink | undefined {
  const { config, ground, identity, outside } = house;
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  const { dial } = outside;
  if (!enabled || !url || !secret || !dial) return undefined;
  const inside: Inside = {
    browser: through(house, routes, "browser"),
    program: through(house, routes, "program"),
  };
  const turns = new Turns();
  const answer = answerThrough.bind(undefined, { inside, log: ground.log });
  const { daemon_id } = identity;
  const hello = { machine: outside.machine, version: VERSION, capabilities: CAPABILITIES };
  return new Uplink(ground, { url, secret, daemon_id, hello }, {
    dial,
    asked: (trunk, asked) => turns.take(asked.stream, () => void answer(trunk, asked)),
  });
}

export function openShares({ config, identity, outside, directory, ground }: Daemon): Shares {
  const { "relay.enabled": enabled, "relay.url": url, "relay.secret": secret } = config;
  const { daemon_id } = identity;
  const { send } = outside;
  const relay = enabled && url && secret
    ? { url, secret: secret.reveal(), daemon_id, send }
    : undefined;
  const resolve = (argument: string) => directory.find(argument);
  return new Shares({ clock: ground.clock, relay, resolve });
}

/** Host and Origin are the relay's to look at: what comes through has neither. */
function through(house: Daemon, routes: readonly Route[], door: RequestHead["door"]) {
  const { db, log } = house.ground;
  const allow_admin = house.config["relay.allow_admin"];
  return serve(routes, {
    admit: () => {
      if (house.ending.aborted) throw new Problem("shutting_down", {});
    },
    authorize: (_request, contract) => admit(contract, { door, allow_admin }),
    durable: () => db.durable(),
    memory: house.idempotency,
    fault: (fault) => log.error("A route failed", { fault }),
  });
}

/**
 * Who calls through the tunnel. The tunnel itself is the authority: the daemon has dialled the
 * relay, which lets in nobody who does not hold its secret, so no token is asked for. A signed-in
 * browser on a page of the relay speaks as the human. MCP clients, shares and programs do not.
 */
function admit(
  { method, path, tunnel }: Contract,
  { door, allow_admin }: { door: RequestHead["door"]; allow_admin: boolean },
): Caller {
  if (tunnel === "never") throw new Problem("not_through_relay", { method, path });
  if (tunnel === "admin" && !allow_admin) throw new Problem("relay_admin_off", { method, path });
  return { remote: undefined, human: door === "browser", authorized: true, holds_token: false };
}
