/** The tests of every client package, with a real daemon and peers in processes of their own. */

import assert from "node:assert/strict";
import { openAsk } from "protocol/asks/contract.ts";
import { client } from "kit/http/client.ts";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { FrozenProxy } from "../net/frozen_proxy.ts";
import { RealDaemon, temporary } from "../programs/child.ts";
import { until } from "../waiting.ts";
import { connectProgram, PeerProgram, type Runtime, startExample } from "./peer_program.ts";

type ClientTest = (runtime: Runtime, state: string) => Promise<void>;

/** Time limit for a program to close its connection and to end. */
const CLOSE_MS_MAX = 10_000;

const TESTS: Readonly<Record<string, ClientTest>> = {
  "peers ask and notify each other, and errors have names": async (runtime, state) => {
    await using daemon = await RealDaemon.start(state);
    await using api = await connectProgram(runtime, { name: "api", state });
    await using web = await connectProgram(runtime, { name: "web", state });
    await web.run("ask", { to: "api", text: "Ready?" });
    assert.deepEqual(await web.next("answer"), { answer: "api read Ready?" });
    assert.deepEqual(await api.next("asked"), { asked: "Ready?", from: "web" });
    await api.run("ask", { to: "web", text: "And you?" });
    assert.deepEqual(await api.next("answer"), { answer: "web read And you?" });
    await api.run("notify", { to: "web", text: "Deployed – ✓ 😀" });
    assert.deepEqual(await web.next("note"), { note: "Deployed – ✓ 😀" });
    await api.run("ask", { to: "web", text: "no" });
    const declined = await api.next("failed");
    assert.equal(declined["failed"], "AskEnded");
    assert.match(String(declined["message"]), /^declined: I will not/);
    await api.run("ask", { to: "nobody", text: "Hello?" });
    const { failed, code } = await api.next("failed");
    assert.deepEqual([failed, code], ["MeshRefused", "unknown_peer"]);
    const question = { kind: "choice", options: [{ id: "yes", title: "Yes" }] } as const;
    const body = { from_peer: "tester", to_peer: "api", text: "Go?", question };
    const call = client(daemon.base, fetch);
    const { correlation_id } = await call(openAsk, { body });
    await until("the chosen option", async () => {
      const ask = await (await fetch(`${daemon.base}/asks/${correlation_id}`)).json();
      return ask.answer?.option_id === "yes";
    });
    await until("receipts for all messages", async () => {
      const { deliveries } = await (await fetch(`${daemon.base}/deliveries`)).json();
      return deliveries.every(({ state }: { state: string }) => state === "seen");
    });
  },

  "a program whose connection is frozen closes it, and ends": async (runtime, state) => {
    await using link = new FrozenProxy(() => ({ port: daemon.port }));
    const settings = { MESH_DAEMON__ALLOWED_HOSTS: `["127.0.0.1:${link.port}"]` };
    await using daemon = await RealDaemon.start(state, { settings });
    using other = temporary();
    const info = JSON.parse(Deno.readTextFileSync(`${state}/daemon.json`));
    const seen = { ...info, url: `http://127.0.0.1:${link.port}` };
    Deno.writeTextFileSync(`${other.path}/daemon.json`, JSON.stringify(seen));
    for (const way of ["up", "down", "both"] as const) {
      await using program = await connectProgram(runtime, { name: way, state: other.path });
      link.frozen = way;
      await program.run("close");
      assert.ok(await timeout(systemClock, CLOSE_MS_MAX, program.status), way);
      link.frozen = undefined;
    }
  },

  "a lost daemon loses no message, and repeats none": async (runtime, state) => {
    const before = await RealDaemon.start(state);
    await using api = await connectProgram(runtime, { name: "api", state });
    await using web = await connectProgram(runtime, { name: "web", state, mode: "hang" });
    await api.run("ask", { to: "web", text: "first", timeoutMs: 1 });
    assert.equal((await api.next("failed"))["failed"], "AskTimeout");
    await web.next("asked");
    await before.kill();
    await api.run("notify", { to: "web", text: "while it was down" });
    await using after = await RealDaemon.start(state);
    assert.match(String((await api.next("sent"))["sent"]), /^(sent|queued)$/);
    assert.deepEqual(await web.next("note"), { note: "while it was down" });
    assert.deepEqual(web.lines, []);
    const { peers } = await (await fetch(`${after.base}/peers`)).json();
    const ids = peers.map(({ peer_id }: { peer_id: string }) => peer_id).sort();
    assert.deepEqual(ids, [api.peer_id, web.peer_id].sort());
  },

  "a program that was killed is the same peer again, and is asked again": async (
    runtime,
    state,
  ) => {
    await using _ = await RealDaemon.start(state);
    await using web = await connectProgram(runtime, { name: "web", state });
    const id_file = `${state}/api.id`;
    const first = await connectProgram(runtime, { name: "api", state, id_file, mode: "hang" });
    await web.run("ask", { to: "api", text: "Ready?" });
    await first.next("asked");
    await first.kill();
    await using second = await connectProgram(runtime, { name: "api", state, id_file });
    assert.deepEqual(await web.next("answer"), { answer: "api read Ready?" });
    assert.deepEqual([second.peer_id, second.peer_name], [first.peer_id, "api"]);
  },

  "the token is read from the configuration, and a wrong one is an error": async (
    runtime,
    state,
  ) => {
    const file = `${state}/config.yaml`;
    const settings = { MESH_CONFIG: file };
    Deno.writeTextFileSync(file, "daemon:\n  auth_token: 'a secret of ours'  # ours\n");
    await using _ = await RealDaemon.start(state, { settings });
    await using api = await connectProgram(runtime, { name: "api", state });
    await api.run("close");
    Deno.writeTextFileSync(file, "daemon:\n  port: 0\n");
    await using stranger = new PeerProgram(runtime, { name: "stranger", state });
    const { failed, code } = await stranger.next("failed");
    assert.deepEqual([failed, code], ["MeshClosed", 4001]);
  },

  "the example of the README does what it says": async (runtime, state) => {
    await using _ = await RealDaemon.start(state);
    await using api = await connectProgram(runtime, { name: "api", state });
    await using example = startExample(runtime, state);
    await until("its answer", () => example.lines.length === 2);
    const answer = "api answers: api read Is the login bug fixed?";
    assert.deepEqual(example.lines, ["I am tickets", answer]);
    assert.deepEqual(await api.next("note"), { note: "Ticket 12 is closed." });
    await api.run("ask", { to: "tickets", text: "What about ticket 12?" });
    assert.deepEqual(await api.next("answer"), { answer: "Ticket 12 is open; api asked first." });
    await api.run("ask", { to: "tickets", text: "What about the weather?" });
    assert.match(String((await api.next("failed"))["message"]), /Ask me about a ticket/);
  },
};

/** Registers the tests for one runtime. */
export function testClient(runtime: Runtime): void {
  for (const [name, test] of Object.entries(TESTS)) {
    Deno.test(`${runtime.title}: ${name}`, async () => {
      using state = temporary();
      await test(runtime, state.path);
    });
  }
}
