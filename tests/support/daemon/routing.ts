/** Helpers for routing: worlds with a strategy, a fake endpoint, asks without `to_peer`. */

import assert from "node:assert/strict";
import { type World, world } from "../world.ts";
import { eventData, get, post } from "./peer_clients.ts";

/** A world with the strategy `least_busy`. */
export function leastBusyWorld(settings: Record<string, string> = {}) {
  return world({ settings: { "routing.strategy": "least_busy", ...settings } });
}

/** Posts an ask without `to_peer`. */
export function askAnyone(w: World, more: Record<string, unknown> = {}) {
  return post(w, "/ask", { from_peer: "ada", text: "Who can?", ...more });
}

export type Handle = (request: Request) => Response | Promise<Response>;

/** A daemon and its endpoint, whose requests are recorded. */
export function endpointWorld(handle: Handle, settings: Record<string, string> = {}) {
  const requests: { request: Request; body: Record<string, unknown> }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (it) => {
    requests.push({ request: it, body: await it.clone().json() });
    return await handle(it);
  });
  const url = `http://127.0.0.1:${server.addr.port}/pick?key=1`;
  const w = world({
    send: (request) => fetch(request),
    settings: { "routing.strategy": "webhook", "routing.webhook": url, ...settings },
  });
  return {
    w,
    requests,
    server,
    [Symbol.asyncDispose]: async () => {
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

export const respondWith = (answer: unknown) => () => Response.json(answer);

/** Asserts that nothing was stored, delivered or published. */
export async function assertNothing(w: World): Promise<void> {
  assert.deepEqual((await get(w, "/asks")).asks, []);
  assert.deepEqual((await get(w, "/deliveries")).deliveries, []);
  assert.deepEqual(eventData(w, "ask"), []);
}
