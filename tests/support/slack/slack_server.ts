/** A fake Slack on a port of this machine: the Web API over HTTP, Socket Mode over WebSockets. */

import { systemClock } from "kit/core/clock.ts";
import { APP_TOKEN, BOT_TOKEN, FakeSlack, SAM } from "./fake_slack.ts";

export function serveSlack() {
  const slack = new FakeSlack(systemClock);
  const server = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: () => {},
    onError: () => new Response(null, { status: 500 }), // A call whose program has ended.
  }, (request) => {
    const { pathname } = new URL(request.url);
    return pathname === "/link" ? slack.connections.upgrade(request) : slack.fetch(request);
  });
  return {
    slack,
    /** The settings of a surface that uses this server. */
    settings: {
      MESH_SURFACES__SLACK__APP_TOKEN: APP_TOKEN,
      MESH_SURFACES__SLACK__BOT_TOKEN: BOT_TOKEN,
      MESH_SURFACES__SLACK__USER: SAM,
      SLACK_API_BASE: `http://127.0.0.1:${server.addr.port}/api`,
    },
    async [Symbol.asyncDispose]() {
      slack.connections.closeAll();
      await server.shutdown();
    },
  };
}
