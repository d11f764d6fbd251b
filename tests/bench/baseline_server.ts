/** The baseline of the bench: a bare server that echoes requests, and pushes a frame for each. */

const sockets: WebSocket[] = [];

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, serve);
Deno.stdout.writeSync(
  new TextEncoder().encode(`${JSON.stringify({ port: server.addr.port })}\n`),
);
for await (const _ of Deno.stdin.readable);
Deno.exit(0);

async function serve(request: Request): Promise<Response> {
  if (request.headers.get("upgrade") === "websocket") {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    sockets.push(socket);
    socket.onclose = () => sockets.splice(sockets.indexOf(socket), 1);
    return response;
  }
  const { pathname } = new URL(request.url);
  const body = await request.json();
  if (pathname === "/push") sockets[body.to]?.send(JSON.stringify(body));
  if (pathname === "/push_all") sockets.forEach((socket) => socket.send(JSON.stringify(body)));
  return Response.json({ id: body.id, ok: true });
}
