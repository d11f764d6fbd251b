/** WebSockets over links that freeze: Slack's over TLS, and the TypeScript client's to a daemon. */

import assert from "node:assert/strict";
// @ts-types="../support/net/ws.d.ts"
import { WebSocket as WsSocket } from "ws";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { slackSockets, SocketMode } from "../../surfaces/slack/socket_mode.ts";
import { Connection } from "../../clients/typescript/connection.ts";
import { FakeClock } from "../support/clock.ts";
import { ConnectProxy } from "../support/net/connect_proxy.ts";
import { FrozenProxy } from "../support/net/frozen_proxy.ts";
import { RELAY, SecureServer } from "../support/net/secure_server.ts";
import { until } from "../support/waiting.ts";

const WAYS = ["up", "down", "both"] as const;

/** Slack's end of Socket Mode, over TLS. */
const slackServer = () =>
  SecureServer.start({
    handle: (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
      const hello = { type: "hello", num_connections: 1 };
      socket.onopen = () => socket.send(JSON.stringify(hello));
      return response;
    },
  });

function slackConnection(address: string, env: Record<string, string>) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const logged: string[] = [];
  const state = { clock, logged, stop, ready: 0, ended: Promise.resolve() };
  const mode = new SocketMode({
    clock,
    ids: randomIds,
    api: { openConnection: () => Promise.resolve(address) },
    connect: slackSockets({ env, clock: systemClock }),
    ready: () => void state.ready++,
    handle: () => Promise.resolve(),
    log: (text) => void logged.push(text),
  });
  state.ended = mode.run(stop.signal);
  return state;
}

for (const way of WAYS) {
  Deno.test(`Slack's socket that is frozen ${way} is replaced within 60 s`, async () => {
    await using server = await slackServer();
    await using link = new FrozenProxy(server.port);
    const env = { SSL_CERT_FILE: server.ca };
    const slack = slackConnection(`wss://127.0.0.1:${link.port}/link`, env);
    await until("the connection", () => slack.ready === 1);
    link.frozen = way;
    await slack.clock.advance(60_000);
    await until("the end of the connection", () => slack.logged.length === 1);
    assert.match(slack.logged[0] ?? "", /^Lost the connection to Slack/);
    link.lose();
    link.frozen = undefined;
    await until("another connection", async () => {
      await slack.clock.advance(500); // A handshake takes longer than a step, and has 15 s.
      return slack.ready >= 2;
    });
    // The first one, and at most one that was opened while the link was frozen.
    link.frozen = way;
    slack.stop.abort();
    await slack.clock.advance(1_000);
    await slack.ended;
    await until("the end of all connections", () => link.open === 0);
  });
}

Deno.test("Slack's socket uses the proxy and the authority of the environment", async () => {
  await using server = await slackServer();
  const hosts = { [RELAY]: "127.0.0.1" };
  await using proxy = new ConnectProxy({ credentials: "me:secret", hosts });
  const env = { HTTPS_PROXY: `http://me:secret@${proxy.host}`, SSL_CERT_FILE: server.ca };
  const slack = slackConnection(`wss://${RELAY}:${server.port}/link`, env);
  await until("the connection", () => slack.ready === 1);
  assert.deepEqual(proxy.asked, [`${RELAY}:${server.port}`]);
  slack.stop.abort();
  await slack.clock.advance(1_000);
  await slack.ended;
});

for (const way of WAYS) {
  Deno.test(`a TypeScript client closes a connection that is frozen ${way} in a second`, async () => {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
      socket.onmessage = () => socket.send(JSON.stringify({ type: "connected" }));
      return response;
    });
    await using _ = { [Symbol.asyncDispose]: () => server.shutdown() };
    await using link = new FrozenProxy(server.addr.port);
    const { promise: up, resolve } = Promise.withResolvers<void>();
    const nothing = () => undefined;
    const connection = new Connection(
      () => Promise.resolve({ url: `http://127.0.0.1:${link.port}`, token: undefined }),
      () => ({ type: "connect" }),
      WsSocket,
      { up: () => resolve(), down: nothing, frame: nothing, ended: nothing },
    );
    await connection.open();
    await up;
    link.frozen = way;
    connection.end("The test is over");
    // The package `ws` ends it by itself after 30 s.
    await until("the end of the connection", () => link.open === 0, 15_000);
  });
}
