import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { FakeMesh } from "../../support/telegram/surface_fixture.ts";
import { FakeBotApi, surfaceEnvironment } from "../../support/telegram/fake_bot_api.ts";
import { until } from "../../support/waiting.ts";
import { meshArguments } from "../../support/programs/program.ts";

const HEALTH = {
  status: "ok",
  version: "1.2.3",
  daemon_id: "dm-000000000001",
  uptime_seconds: 1,
  pid: 7,
  peers: 2,
  schema_version: 1,
  capabilities: { ask_pull_delivery: true },
  relay: { status: "disabled", url: null, last_connected_at: null, last_error: null },
};

/** A daemon's socket and inbox, on a port of this machine. */
function serveMesh(mesh: FakeMesh) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") return Response.json(HEALTH);
    if (pathname !== "/ws") return mesh.fetch(request);
    const { socket, response } = Deno.upgradeWebSocket(request);
    const end = mesh.connect(new URL(request.url), {
      opened: () => {},
      received: (text) => socket.send(text),
      closed: (code) => socket.readyState === WebSocket.OPEN && socket.close(code),
    });
    socket.onmessage = ({ data }) => end.send(String(data));
    socket.onclose = () => end.close();
    return response;
  });
}

/** Ends the child with the test, whatever the outcome. */
function endWithTest(child: Deno.ChildProcess, output: Promise<string>): AsyncDisposable {
  let stopped = false;
  child.status.then(() => stopped = true);
  return {
    async [Symbol.asyncDispose]() {
      if (!stopped) child.kill("SIGKILL");
      await child.status;
      await output;
    },
  };
}

Deno.test("the program shows items, carries replies, survives a lost connection, and ends on Ctrl-C", async () => {
  const cwd = Deno.makeTempDirSync();
  const bot = new FakeBotApi(systemClock), mesh = new FakeMesh(systemClock);
  await using daemon = serveMesh(mesh);
  await using api = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    onListen: () => {},
    onError: () => new Response(null, { status: 500 }), // A poll that Ctrl-C interrupted.
  }, bot.fetch);
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["surface", "telegram"]),
    cwd,
    env: {
      ...surfaceEnvironment(cwd, { daemon: daemon.addr.port, api: api.addr.port }),
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_COLOR: "1",
    },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const output = new Response(child.stderr).text();
  await using _ = endWithTest(child, output);
  await until("the greeting", () => mesh.connects.length === 1 || undefined);
  mesh.item({ text: "Ready?" });
  await until("the receipt", () => mesh.receipts.length === 1 || undefined);
  bot.reply(bot.sentMessages[0]?.message_id ?? 0, "Yes");
  await until("the reply", () => mesh.replies.length === 1 || undefined);
  assert.partialDeepStrictEqual(mesh.replies, [{ surface: "telegram", text: "Yes" }]);
  mesh.close(1001);
  await until("the next line", () => mesh.connects.length === 2 || undefined);
  child.kill("SIGINT");
  assert.equal((await child.status).code, 0, await output);
  assert.match(
    await output,
    /your inbox in chat 815[^]*Lost the daemon[^]*Reconnected to the daemon/,
  );
  assert.doesNotMatch(await output, /topsecret/);
  Deno.removeSync(cwd, { recursive: true });
});
