/** Frozen programs on this machine: each call and each connection to them ends in time. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { AgentProcess } from "../../cli/acp/agent_process.ts";
import { DaemonUnreachable } from "../../cli/client/daemon_client.ts";
import { ANSWER_MS_MAX, sendLocally } from "../../cli/client/local_http.ts";
import { uploadContent } from "../../cli/client/uploads.ts";
import { AppServer } from "../../daemon/features/agents/codex/app_server.ts";
import { callKitty } from "../../daemon/host/kitty/remote_control.ts";
import { TmuxServers } from "../../daemon/host/tmux/tmux.ts";
import { THREAD } from "../support/agents/codex_server.ts";
import { FrozenCodex } from "../support/agents/frozen_codex.ts";
import { FakeClock } from "../support/clock.ts";
import { FakeKitty } from "../support/host/fake_kitty.ts";
import { SEARCH_PATH, silent, withTmux } from "../support/host/private_tmux.ts";
import { FrozenProxy } from "../support/net/frozen_proxy.ts";
import { meshCommand } from "../support/programs/program.ts";
import { until } from "../support/waiting.ts";

const WAYS = ["up", "down", "both"] as const;

for (const way of WAYS) {
  Deno.test(`a connection to Codex's server that is frozen ${way} ends, however often it is tried`, async () => {
    await using codex = new FrozenCodex();
    const { home, link } = codex;
    const clock = new FakeClock();
    for (let attempt = 1; attempt <= 3; attempt++) {
      link.frozen = undefined;
      const server = await AppServer.connect(home.dir, clock);
      assert(server instanceof AppServer);
      link.frozen = way;
      const calling = server.call("thread/read", { threadId: THREAD });
      await clock.advance(5_000);
      assert.deepEqual(await calling, { state: "unanswered", reason: "no_answer" });
      server[Symbol.dispose]();
      await clock.advance(1_000);
      await until("the end of the connection", () => link.open === 0);
      link.lose();
    }
  });

  Deno.test(`a connection to Codex's server that is frozen ${way} from its start ends`, async () => {
    await using codex = new FrozenCodex();
    const { home, link } = codex;
    const clock = new FakeClock();
    link.frozen = way;
    const connecting = AppServer.connect(home.dir, clock);
    await until("the connection", () => link.accepted === 1);
    await clock.advance(2_000);
    assert.equal(await connecting, "connect_timeout");
    await clock.advance(1_000);
    await until("the end of the connection", () => link.open === 0);
  });

  Deno.test(`a command of kitty that is frozen ${way} ends, and the next one works`, async () => {
    await using kitty = new FakeKitty();
    await using link = new FrozenProxy(() => ({ path: kitty.socket }), `${kitty.dir}/proxy`);
    const clock = new FakeClock();
    const call = () => callKitty(`${kitty.dir}/proxy`, { cmd: "ls", payload: {} }, { clock });
    link.frozen = way;
    const calling = call();
    await until("the connection", () => link.accepted === 1);
    await clock.advance(5_000);
    assert.partialDeepStrictEqual(await calling, { ok: false, reason: "timeout" });
    await until("the end of the connection", () => link.open === 0);
    link.lose();
    link.frozen = undefined;
    assert.equal((await call()).ok, true);
  });
}

withTmux(
  "a tmux server that is stopped fails commands in 5 s, and is left in 1 s",
  async (terminal) => {
    terminal.start("cat");
    const clock = new FakeClock();
    const options = { ids: randomIds, log: silent, state_dir: terminal.dir };
    const servers = new TmuxServers({ ...options, clock, search_path: SEARCH_PATH });
    const tmux = servers.at(terminal.socket);
    const command = ["display-message", "-p", "#{pid}"];
    const first = await tmux.run(command);
    const pid = first.ok ? Number(first.lines[0]) : NaN;
    try {
      Deno.kill(pid, "SIGSTOP");
      const frozen = tmux.run(command);
      await clock.advance(5_000);
      assert.partialDeepStrictEqual(await frozen, { ok: false, reason: "timeout" });
      assert.equal(tmux.connected, false);
      Deno.kill(pid, "SIGCONT");
      assert.equal((await tmux.run(command)).ok, true);
      await until("the connection to be idle", () => !tmux.busy);
      Deno.kill(pid, "SIGSTOP");
      const closing = servers[Symbol.asyncDispose]();
      await clock.advance(1_000);
      assert.equal(await timeout(systemClock, 10_000, closing.then(() => true)), true);
    } finally {
      Deno.kill(pid, "SIGCONT");
    }
  },
);

Deno.test("an agent over ACP that takes nothing is ended", async () => {
  const agent = new AgentProcess(["sleep", "600"], Deno.env.toObject(), systemClock);
  void agent.streams.write(new Uint8Array(1_048_576)).catch(() => undefined);
  assert.equal(await timeout(systemClock, 10_000, agent.end().then(() => true)), true);
  await agent.code;
});

Deno.test("mesh mcp ends after its input, though its agent takes no answer", async () => {
  const dir = Deno.makeTempDirSync();
  const [program = "", ...args] = meshCommand(["mcp"]);
  const child = new Deno.Command(program, {
    args,
    env: { MESH_STATE: dir, MESH_CONFIG: `${dir}/config.yaml` },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  try {
    const input = child.stdin.getWriter();
    // Each line is refused with an answer. A pipe holds 64 KiB.
    await input.write(new TextEncoder().encode("no message\n".repeat(4_000)));
    await input.close();
    const status = await timeout(systemClock, 20_000, child.status);
    assert.equal(status?.code, 0);
  } finally {
    await child.stdout.cancel();
    if (await timeout(systemClock, 0, child.status) === undefined) child.kill("SIGKILL");
    await child.status;
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test("a daemon that takes no connection ends a call after its limit", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
  const address = { hostname: "127.0.0.1", port: listener.addr.port };
  const waiting: Deno.TcpConn[] = [];
  const fill = async () => {
    const opened = await timeout(systemClock, 200, Deno.connect(address));
    if (opened) waiting.push(opened);
    return opened === undefined;
  };
  try {
    while (!await fill()) assert.ok(waiting.length < 100);
    const clock = new FakeClock();
    const url = new URL(`http://127.0.0.1:${address.port}/peers`);
    const deadline = { clock, ms: ANSWER_MS_MAX };
    const call = sendLocally({ url, method: "GET", headers: {}, deadline });
    call.catch(() => undefined);
    await clock.advance(ANSWER_MS_MAX);
    await assert.rejects(call, /The daemon has not answered within 90 s/);
  } finally {
    listener.close();
    for (const connection of waiting) connection.close();
  }
});

Deno.test("an upload that the daemon stops reading ends; a slow upload continues", async () => {
  const clock = new FakeClock();
  const parts = Array.from({ length: 3 }, () => new Uint8Array(10));
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const daemon = {
    url: "http://127.0.0.1:1",
    get: (_: string, init: { body?: ReadableStream<Uint8Array> } = {}) => {
      reader = init.body?.getReader();
      return new Promise<never>(() => undefined);
    },
  };
  const file = { filename: "a.txt", content_type: "text/plain" };
  const content = ReadableStream.from(parts);
  const upload = uploadContent(daemon, { ...file, content }, undefined, clock);
  let outcome: unknown;
  upload.catch((error) => outcome = error);
  await reader?.read(); // The head of the form.
  for (const _ of parts) {
    await clock.advance(ANSWER_MS_MAX - 1);
    await reader?.read();
    await clock.settle();
    assert.equal(outcome, undefined);
  }
  await clock.advance(ANSWER_MS_MAX);
  assert(outcome instanceof DaemonUnreachable);
});
