/** A relay on loopback for the bench; it prints the cookie of a browser that is signed in. */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";

const namespace = namespaceOf(Deno.args[0] ?? "") ?? "";
const relay = new Relay({
  clock: systemClock,
  log: jsonLog(systemClock, "error", (line) => Deno.stderr.writeSync(encode(line))),
  ids: randomIds,
  proxy: { mode: "direct" },
  oauth: undefined,
  accept: (request, listener) => {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    return { response, connection: toConnection(socket, listener) };
  },
});
const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };
const server = Deno.serve(options, (request) => relay.fetch(request));
void relay.run();
const { port } = server.addr;
const [cookie] = relay.sessions.open(namespace, new Request(`http://127.0.0.1:${port}`)).split(";");
Deno.stdout.writeSync(encode(JSON.stringify({ port, cookie })));
for await (const _ of Deno.stdin.readable);
Deno.exit(0);

function encode(line: string): Uint8Array {
  return new TextEncoder().encode(`${line}\n`);
}
