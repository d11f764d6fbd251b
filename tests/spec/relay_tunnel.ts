/** Contract 9, the tunnel, and what the specification says of it. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const RELAY_TUNNEL: readonly Requirement[] = [
  ["5.relay.no-secret-in-logs", "relay", "No secret and no token stands in a log of relay or daemon"],
  ["5.relay.reconnect",        "relay", "Configured secrets keep working when daemons reconnect"],
  ["c2.human.tunnel",          "relay", "Through the tunnel only a signed-in browser on a page of the relay is a door of the human"],
  ["c2.event.relay-status",    "relay", "relay_status tells when the tunnel comes and goes"],
  ["c3.health.relay",          "relay", "/health tells of the relay: status, url, last_connected_at, last_error"],
  ["c7.setup.relay",           "relay", "mesh setup --relay draws a secret and writes it into the configuration, 0600"],
  ["c9.no-list",               "relay", "Any secret of the right form is a namespace; no list of them is kept"],
  ["c9.tunnel.exact",          "relay", "A request reaches the daemon that it names, or none"],
  ["c9.tunnel.namespace",      "relay", "A daemon is seen under its own secret, and under no other"],
  ["c9.tunnel.dial",           "relay", "The daemon dials /ws/daemon with its secret and id in headers, never in the URL"],
  ["c9.tunnel.plain",          "relay", "Without TLS a relay is dialled on loopback alone"],
  ["c9.tunnel.hello",          "relay", "The daemon's first frame tells its machine, its version and what it can do"],
  ["c9.tunnel.version",        "relay", "A version of the tunnel that is not known is refused by name"],
  ["c9.tunnel.newest",         "relay", "A newer connection of the same daemon id replaces the older, which closes with 4009"],
  ["c9.tunnel.replaced",       "relay", "A daemon replaced twice in a minute by its own id stops dialling and says so"],
  ["c9.tunnel.backoff",        "relay", "A lost relay is dialled again after rests that grow, a minute at most"],
  ["c9.tunnel.jitter",         "relay", "The rests differ by chance"],
  ["c9.tunnel.heartbeat",      "relay", "Both ends ask for signs of life, and end a line that gives none"],
  ["c9.tunnel.concurrent",     "relay", "A slow or dead request never delays another"],
  ["c9.tunnel.flow",           "relay", "A body is sent no faster than its reader takes it"],
  ["c9.tunnel.bounds",         "relay", "Each end holds a bounded number of bytes for slow readers"],
  ["c9.tunnel.cancel",         "relay", "A request that nobody waits for is given up on both ends"],
  ["c9.tunnel.lost",           "relay", "A request that the tunnel is lost under is said to be so, and is not sent again"],
  ["c9.tunnel.streams",        "relay", "The event stream comes through as it happens"],
  ["c9.tunnel.bad-frames",     "relay", "Whatever an end sends, the other neither fails nor crashes"],
  ["c9.routes.machine",        "relay", "A daemon's routes live under /m/{daemon_id}/…; the machine is named, never guessed"],
  ["c9.tunnel.same-origin",    "relay", "Every request through the tunnel needs the same origin, GETs included"],
  ["c9.tunnel.never",          "relay", "/mcp, /metrics, /openapi.json, /deliveries, identity, chat and turns never go through"],
  ["c9.tunnel.no-pages",       "relay", "A daemon's markup never runs on the relay's origin: answers are sandboxed, not stored, and are JSON, an event stream or a download"],
  ["c9.tunnel.admin",          "relay", "Spawn, kill, restart and link go through only with relay.allow_admin"],
  ["c9.tunnel.authority",      "relay", "The tunnel is the authority of what comes through: no exemption from the token is used"],
  ["c9.image",                 "relay", "The relay's image runs without root, with a health check and a volume for its data"],
];
