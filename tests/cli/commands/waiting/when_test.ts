/** `mesh when`, against a daemon in memory. */

import assert from "node:assert/strict";
import { runCli } from "../../../../cli.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";
import { addPeer, connectPeer } from "../../../support/daemon/peer_clients.ts";
import { readSubscription, subscriptionIds, turn } from "../../../support/daemon/schedules.ts";
import { world } from "../../../support/world.ts";

async function fixture() {
  const w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "web");
  await turn(w, "web", "working");
  const bob = await connectPeer(w, "bob");
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const env = {
    MESH_CONFIG: "/none",
    MESH_STATE: "/none",
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    w,
    bob,
    async mesh(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(args, env, terminal, w.clock);
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

const FROM = ["--from", "ada"];

Deno.test("mesh when has a message sent, is listed, shown and cancelled [4.when.cli]", async () => {
  await using at = await fixture();
  const { w, bob, mesh } = at;
  const made = await mesh("when", "web", "idle", ...FROM, "--", "notify", "bob", "Go", "--on");
  assert.deepEqual([made.code, made.err], [0, ""]);
  assert.match(made.out, /^subscribed {2}peer:web idle, once, to bob {2}sub-\w{12}\n$/);
  const [id = ""] = await subscriptionIds(w);
  assert.match((await mesh("when", "list")).out, /^ID .*\nsub-\w+ +active +peer:web idle +once /);
  await turn(w, "web", "idle");
  await w.tick(1);
  assert.match(bob.of("notify")[0]?.text ?? "", /^Go --on\n\n\(sub-/);
  assert.match((await mesh("when", "show", id)).out, /\nobserved +web is idle since 2030/);
  assert.match((await mesh("when", "list")).out, /^No subscriptions/);
  assert.match((await mesh("when", "list", "--all")).out, / fired +peer:web idle /);
  const other = JSON.parse((await mesh("when", "web", "offline", "--json", ...FROM)).out);
  const cancelled = await mesh("when", "cancel", other.subscription_id);
  assert.equal(cancelled.out, `cancelled  ${other.subscription_id}\n`);
});

Deno.test("a condition is written in one word, in several, or by an id [4.when.cli]", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  const conditionOf = async (...words: string[]) => {
    const { out, err } = await mesh("when", ...words, "--json", ...FROM);
    if (err) return err;
    const { condition, until } = await readSubscription(w, JSON.parse(out).subscription_id);
    return until === null ? condition : `${condition} until ${until}`;
  };
  assert.equal(await conditionOf("peer:web finished"), "peer:web finished");
  assert.equal(await conditionOf("peer:web", "blocked"), "peer:web blocked");
  assert.equal(
    await conditionOf("web", "idle", "--until", "2h"),
    "peer:web idle until 2030-01-01T02:00:00.000Z",
  );
  assert.match(await conditionOf("work-000000000000", "ended"), /Unknown job: work-0/);
  assert.match(await conditionOf("ask-000000000000", "closed"), /ask-000000000000/);
  assert.match(await conditionOf("web"), /"web" is no condition; allowed: peer:NAME idle/);
});

Deno.test("after -- only a notification with a recipient and a text is possible", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  for (const action of [["ask", "bob", "x"], ["notify", "bob"], ["notify"]]) {
    const { code, err } = await mesh("when", "web", "idle", ...FROM, "--", ...action);
    assert.equal(code, 2);
    assert.match(err, /After -- only a notification is possible: -- notify PEER "TEXT"/);
  }
  const both = await mesh("when", "web", "idle", "--once", "--until", "2h", ...FROM);
  assert.deepEqual([both.code, /exclude each other/.test(both.err)], [2, true]);
  assert.deepEqual(await subscriptionIds(w), []);
});
