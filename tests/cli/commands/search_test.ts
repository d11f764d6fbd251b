/** `mesh search`, `show`, `why` and `doctor`, against a daemon on a real port. */

import assert from "node:assert/strict";
import { CLOCK_TIME_COLUMNS } from "../../../cli/output/time.ts";
import { runCli } from "../../../cli.ts";
import { world, type WorldOptions } from "../../support/world.ts";
import {
  addPeer,
  ask,
  connectPeer,
  connectPeerWithReceipts,
  notify,
  post,
} from "../../support/daemon/peer_clients.ts";
import { cliFixture } from "../../support/cli/listening_daemon.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

function setup(settings: NonNullable<WorldOptions["settings"]> = {}) {
  return cliFixture(world({ settings }));
}

Deno.test("`search` lists messages, newest first, and says how to see more", async () => {
  await using p = setup();
  const { w, mesh } = p;
  await addPeer(w, "api");
  await addPeer(w, "web");
  const id = await ask(w, "web", "api", "Which port?");
  await w.tick(60);
  await notify(w, "api", "web", `${"x ".repeat(100)} the port is\n8080`);
  await w.tick();
  const { code, out } = await mesh("search", "port");
  assert.equal(code, 0);
  const [head, first, second, ...rest] = out.trimEnd().split("\n");
  assert.match(head ?? "", /^WHEN +WHO +KIND +ID +TEXT$/);
  assert.match(first ?? "", /api → web +notify +notif-000000000002 +….*the port is 8080$/);
  assert.match(second ?? "", new RegExp(`web → api +ask +${id} +Which port\\?$`));
  assert.deepEqual(rest, []);
  const limited = await mesh("search", "port", "--limit", "1");
  assert.match(limited.err, /There are more messages/);
  assert.equal(limited.out.trimEnd().split("\n").length, 2);
  assert.equal((await mesh("search", "which", "port")).out.trimEnd().split("\n").length, 2);
  assert.match((await mesh("search", "port", "--peer", "nobody")).out, /^No messages match/);
  assert.match((await mesh("search", "--kind", "ask")).out, /Which port/);
  assert.doesNotMatch((await mesh("search", "--since", "30s")).out, /Which port/);
  assert.match((await mesh("search", "--since", "5min", "--with", "api")).out, /Which port/);
  assert.match((await mesh("search", "--until", "30s")).out, /Which port/);
  const json = JSON.parse((await mesh("search", "--json")).out);
  assert.deepEqual([json.messages.length, json.next], [2, null]);
});

Deno.test("`search` reads as many pages as --limit needs", async () => {
  await using p = setup({ "daemon.queue.max_per_peer": "10000" });
  await addPeer(p.w, "api");
  for (let count = 0; count < 510; count++) await notify(p.w, "web", "api", `plum ${count}`);
  const { out } = await p.mesh("search", "--limit", "505", "--json");
  const { messages, next } = JSON.parse(out);
  const ids = new Set(messages.map(({ message_id }: { message_id: string }) => message_id));
  assert.deepEqual([ids.size, typeof next], [505, "string"]);
});

Deno.test("an invalid time, kind or count is wrong usage", async () => {
  await using p = setup();
  const wrong = [
    ["--since", "soon"],
    ["--since", "5 parsecs"],
    ["--until", "2030-13-77"],
    ["--kind", "shout"],
    ["--limit", "0"],
    ["--limit", "1.5"],
  ];
  for (const args of wrong) {
    const { code, err } = await p.mesh("search", "x", ...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, new RegExp(`^mesh: ${args[0]}: `));
  }
});

Deno.test("`show` shows messages, replies and asks by id; `trace` shows their stages", async () => {
  await using p = setup();
  const { w, mesh } = p;
  await connectPeer(w, "web");
  await addPeer(w, "api");
  const { delivery_id } = await notify(w, "web", "api", "Line one\nLine two");
  const id = await ask(w, "web", "api", "Which port?");
  await post(w, "/ack", { correlation_id: id, message: "Port 8080" });
  const note = await mesh("show", delivery_id);
  assert.match(note.out, /^notify +notif-000000000001\n[^]*queued[^]*\n\nLine one\nLine two\n$/);
  const reply = await mesh("show", "qd-000000000003");
  assert.match(reply.out, /^ack +qd-000000000003\nask +ask-000000000002\n[^]*Port 8080\n$/);
  assert.match((await mesh("show", "qd-000000000002")).out, /Which port\?\n\napi:\nPort 8080\n$/);
  assert.match((await mesh("show", id)).out, /Which port\?\n\napi:\nPort 8080\n$/);
  assert.match((await mesh("trace", delivery_id)).out, /created[^]*resolved[^]*queued/);
  for (const trace_id of [delivery_id, id, "qd-000000000003"]) {
    const { out } = await mesh("trace", trace_id);
    assert.match(out, /^\w+ +\S+ {2}(web → api|api → web)\n[^]*queued +(web|api)/, trace_id);
    assert.doesNotMatch(out, /peer-/, trace_id);
  }
  const unknown = await mesh("show", "notif-ffffffffffff");
  assert.deepEqual([unknown.code, unknown.out], [1, ""]);
  assert.match(unknown.err, /Unknown message: notif-ffffffffffff/);
});

/** The sentences of `mesh why`, without the times. */
async function explanation(p: ReturnType<typeof setup>, id: string): Promise<string[]> {
  const { code, out, err } = await p.mesh("why", id);
  assert.equal(code, 0, err);
  return out.trimEnd().split("\n").map((line) => line.slice(CLOCK_TIME_COLUMNS).trim());
}

Deno.test("`why` explains in plain English what happened to a message", async () => {
  await using p = setup({ "human.name": "sam" });
  const { w } = p;
  await addPeer(w, "api");
  const { delivery_id: waits } = await notify(w, "cli", "api", "Hello");
  assert.deepEqual(await explanation(p, waits), [
    "cli notified api: “Hello”",
    "Now: it is queued for api: no transport reaches it now: no socket, no terminal, no hook.",
  ]);
  await w.tick(86_401);
  assert.deepEqual((await explanation(p, waits)).slice(1), [
    "Delivery was given up: nobody took it in time.",
    "Now: it did not arrive.",
  ]);
  const web = await connectPeerWithReceipts(w, "web");
  const id = await ask(w, "cli", "web", "Ready?");
  await w.clock.settle();
  const [{ delivery_id } = { delivery_id: "" }] = web.of("ask");
  await web.send({ type: "delivery_ack", delivery_id, status: "seen" });
  assert.deepEqual(await explanation(p, id), [
    "cli asked web: “Ready?”",
    "The daemon tried its WebSocket.",
    "It was sent.",
    "web has seen it: the agent's prompt contained its id.",
    "Now: it was read. web has not answered.",
  ]);
  await post(w, "/ack", { correlation_id: id, message: "Yes" });
  assert.deepEqual((await explanation(p, id)).slice(4), [
    "web answered: “Yes”",
    "Now: the ask is closed.",
  ]);
  await connectPeer(w, "old");
  const { delivery_id: unproved } = await notify(w, "cli", "old");
  await w.tick(31);
  assert.deepEqual((await explanation(p, unproved)).slice(3), [
    "Nothing confirms that it arrived. It may have, so it is not sent again.",
    "Now: it is unknown whether it arrived.",
  ]);
  const early = await ask(w, "cli", "api", "Early?");
  await post(w, "/decline", { correlation_id: early, reason: "No" });
  assert.deepEqual((await explanation(p, early)).slice(1), [
    "api declined: “No”",
    "Now: the ask is closed.",
  ]);
  assert.equal((await p.mesh("why", "ask-ffffffffffff")).code, 1);
});

Deno.test("`doctor` shows the daemon's state, and which peers messages wait for and why", async () => {
  await using p = setup();
  const { w, mesh } = p;
  await addPeer(w, "api");
  await connectPeer(w, "web");
  await notify(w, "cli", "api");
  await notify(w, "cli", "api");
  await notify(w, "cli", "web");
  const { db } = w.daemon.ctx;
  db.transactNow((tx) => tx.run("update messages set reason = 'no_transport' where seq < 3"));
  await w.tick(31);
  const { code, out } = await mesh("doctor");
  assert.equal(code, 0);
  assert.match(out, /^daemon +running\n/);
  assert.match(out, /\npeers +2 online\n[^]*\nwaiting +2\nunproved +1, never/);
  assert.match(out, /\napi +2 +31s +no transport reaches it now/);
  assert.doesNotMatch(out, /unaccounted/);
  const json = JSON.parse((await mesh("doctor", "--json")).out);
  assert.deepEqual([json.total, json.unaccounted, json.peers], [3, [], { online: 2 }]);
  assert.equal(json.health.status, "ok");
});

Deno.test("`doctor --audit` counts by state, and exits 1 when a message is unaccounted for", async () => {
  await using p = setup();
  const { w, mesh } = p;
  await addPeer(w, "api");
  await notify(w, "cli", "api");
  await ask(w, "cli", "api");
  const good = await mesh("doctor", "--audit");
  assert.equal(good.code, 0);
  assert.match(good.out, /\nqueued +2\ntotal +2\n0 unaccounted\n$/);
  const { db } = w.daemon.ctx;
  db.transactNow((tx) =>
    tx.run("update messages set ask_state = 'closed', closed_at = 1 where seq = 2")
  );
  const bad = await mesh("doctor", "--audit");
  assert.equal(bad.code, 1);
  assert.match(bad.out, /\n1 unaccounted\n +qd-000000000002 +queued: closed but queued\n$/);
  assert.match((await mesh("doctor")).out, /1 messages are unaccounted for/);
});

Deno.test("`doctor` without a daemon exits 1 and prints how to start it", async () => {
  const { terminal, lines } = capturedTerminal();
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const port = String(listener.addr.port);
  listener.close(); // The port is free now.
  const env = { MESH_CONFIG: "/none", MESH_STATE: "/none", MESH_DAEMON__PORT: port };
  assert.equal(await runCli(["doctor"], env, terminal), 1);
  assert.match(lines.out, /^error +daemon +no daemon answers at [^]*?fix: mesh up\n/);
});
