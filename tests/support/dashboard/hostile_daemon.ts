/** A machine behind the relay that knows only the event stream, and whose name is an attack. */

import { toConnection } from "kit/net/tunnel/connection.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import { SECRET } from "../e2e/relay_lab.ts";
import { helloFrame, ScriptedDaemon } from "../relay/scripted_daemon.ts";

const DAEMON_ID = "dm-eeeeeeeeeeee";
const NAME = `<img src=x onerror='globalThis.ran = 1'>${"x".repeat(150)}`;

const openSocket: OpenSocket = (address, headers, listener) =>
  toConnection(new WebSocket(address, { headers: { ...headers } }), listener);

const READY = new TextEncoder().encode('event: ready\ndata: {"last":0}\n\n');

/** Every other request gets the refusal of a route that does not exist. */
export async function hostileDaemon(relay_url: string) {
  const daemon = ScriptedDaemon.openSocket(openSocket, {
    address: relay_url.replace("http", "ws"),
    secret: SECRET,
    daemon_id: DAEMON_ID,
    hello: helloFrame(NAME),
  });
  daemon.on = (frame) => {
    if (frame.type === "ping") daemon.sendFrame({ type: "pong", ping_id: frame.ping_id });
    if (frame.type !== "request") return;
    const { id, method, path } = frame;
    if (path.startsWith("/events/stream")) {
      const headers = [["content-type", "text/event-stream"]];
      daemon.sendFrame({ type: "response", id, status: 200, headers, body: true });
      return daemon.sendChunk(id, READY);
    }
    const refusal = { error: "not_found", detail: `No such route: ${method} ${path}` };
    const headers = [["content-type", "application/json"]];
    daemon.sendFrame({ type: "response", id, status: 404, headers, body: true });
    daemon.sendChunk(id, new TextEncoder().encode(JSON.stringify(refusal)));
    daemon.sendFrame({ type: "end", id });
  };
  await daemon.whenOpened;
  return {
    daemon_id: DAEMON_ID,
    [Symbol.asyncDispose]: () => Promise.resolve(daemon.close()),
  };
}
