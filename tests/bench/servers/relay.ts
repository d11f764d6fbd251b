/**
 * A relay on loopback for the bench; it prints the cookie of a browser that is signed in, and the
 * token of an app.
 */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { HttpListener } from "kit/host/http_listener.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import { fillGrants } from "./grants.ts";

const namespace = namespaceOf(Deno.args[0] ?? "") ?? "";
const log = jsonLog(systemClock, "error", (line) => Deno.stderr.writeSync(encode(line)));
/** Set after the listener starts, because the relay needs its port. */
const running: { relay?: Relay } = {};
const unavailable = () => new Response(null, { status: 503 });
const server = new HttpListener({
  hostname: "127.0.0.1",
  port: 0,
  clock: systemClock,
  log,
  handle: (request, remote) => running.relay?.fetch(request, remote) ?? unavailable(),
  onError: (error) => running.relay?.onError(error) ?? unavailable(),
});
const { port } = server.addr;
const issuer = `http://127.0.0.1:${port}`;
const db = openDatabase(":memory:", issuer, { clock: systemClock, log });
const relay = running.relay = new Relay({
  clock: systemClock,
  log,
  ids: randomIds,
  proxy: { mode: "direct" },
  oauth: { issuer, db },
  accept: (request, listener) => {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    return { response, connection: toConnection(socket, listener) };
  },
});
void relay.run();
const [cookie] = relay.sessions.open(namespace, new Request(issuer)).split(";");
const [token] = fillGrants(db, { grants: 1, tokens_each: 1, namespace });
Deno.stdout.writeSync(encode(JSON.stringify({ port, cookie, token })));
for await (const _ of Deno.stdin.readable);
Deno.exit(0);

function encode(line: string): Uint8Array {
  return new TextEncoder().encode(`${line}\n`);
}
