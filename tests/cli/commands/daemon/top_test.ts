/** `mesh top`: printed once, and redrawn live. */

import assert from "node:assert/strict";
import { runCli } from "../../../../cli.ts";
import { DaemonUnreachable } from "../../../../cli/client/daemon_client.ts";
import { drawLive } from "../../../../cli/commands/daemon/top.ts";
import { answeringDaemon, PEER } from "../../../support/cli/answering_daemon.ts";
import { FakeScreen } from "../../../support/cli/fake_screen.ts";
import { Keyboard } from "../../../support/cli/live_session.ts";
import { until } from "../../../support/waiting.ts";
import { world } from "../../../support/world.ts";
import { addPeer, ask, connectPeer, notify } from "../../../support/daemon/peer_clients.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";

Deno.test("top lists each peer with its waiting messages, the busiest first", async () => {
  await using w = world({ settings: { "daemon.allowed_hosts": "[127.0.0.1]" } });
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  await connectPeer(w, "web");
  await addPeer(w, "bob");
  await notify(w, "ada", "bob");
  await ask(w, "ada", "bob");
  const port = String(server.addr.port);
  const env = { MESH_CONFIG: "/none", MESH_STATE: "/none", MESH_DAEMON__PORT: port };
  const { terminal, lines } = capturedTerminal();
  assert.equal(await runCli(["top", "--json"], env, terminal), 0);
  const { peers, ...all } = JSON.parse(lines.out);
  assert.deepEqual(all, { messages: 2, queued: 2, unproved: 0, messages_per_second: null });
  assert.deepEqual([peers[0].name, peers[0].queued, peers[0].open_asks], ["bob", 2, 1]);
  assert.deepEqual([peers[1].name, peers[1].queued, peers[1].status], ["web", 0, "online"]);
  const person_terminal = capturedTerminal();
  assert.equal(await runCli(["top"], env, person_terminal.terminal), 0);
  assert.match(
    person_terminal.lines.out,
    /^2 peers, 2 messages, 2 waiting, 0 unproved\n\nNAME [^]*\nbob /,
  );
});

Deno.test("live top shows the message rate, and survives a daemon that is away", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const stop = new AbortController();
  const { terminal, lines } = capturedTerminal({ columns: 80 });
  let isAway = false;
  const call: typeof w.call = (contract, given) => {
    if (isAway) return Promise.reject(new DaemonUnreachable("http://none", undefined));
    return w.call(contract, given);
  };
  const { clock } = w;
  const showing = drawLive({ call, terminal, clock }, stop.signal);
  const frame = async () => {
    await clock.settle();
    const all = lines.out.split("\u001b[H\u001b[2J");
    lines.out = "";
    return all.at(-1);
  };
  assert.match(await frame() ?? "", /^1 peers, 0 messages, 0 waiting/);
  for (let count = 0; count < 6; count++) await notify(w, "ada", "bob");
  await w.tick(2);
  assert.match(await frame() ?? "", /^1 peers, 6 messages, 3\.0 per second, 6 waiting/);
  isAway = true;
  await w.tick(2);
  assert.match(await frame() ?? "", /^Lost the daemon; waiting for it\n/);
  isAway = false;
  await w.tick(2);
  assert.match(await frame() ?? "", /^1 peers, 6 messages, 6 waiting/);
  stop.abort();
  await showing;
});

Deno.test("on a terminal top ends on q, explains its keys on ?, and shows as many peers as fit", async () => {
  const peers = Array.from({ length: 40 }, (_, at) => ({ ...PEER, peer_id: `peer-${at}` }));
  await using p = answeringDaemon({
    "GET /peers": () => ({ peers: [{ ...PEER, role: "human", transport: "none" }, ...peers] }),
    "GET /deliveries": () => ({ deliveries: [], counts: {}, total: 0, unproved: 0 }),
  });
  const fake = new FakeScreen(80, 20);
  const keyboard = new Keyboard();
  const ended = p.mesh(["top"], { ...fake.device, keys: keyboard.keys, columns: 80 });
  const frames = () => fake.written.split("\u001b[H\u001b[2J");
  await until("the hint", () => frames().at(-1)?.includes("q quits, ? lists the keys"));
  const first = frames().at(-1) ?? "";
  assert.ok(first.trimEnd().split("\n").length <= 20);
  assert.match(first, /and \d+ more: mesh peers/);
  assert.match(first, /^api +main +online +inbox/m);
  assert.doesNotMatch(first, /none/);
  keyboard.type("?");
  await until("the keys", () => /^q, Ctrl-C +quit$/m.test(frames().at(-1) ?? ""));
  keyboard.type("q");
  assert.equal((await ended).code, 0);
});
