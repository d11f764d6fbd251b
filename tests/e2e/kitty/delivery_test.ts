/** The pane transport against a real kitty: what arrives, and what never does. */

import assert from "node:assert/strict";
import { isAlive, startTimeOf } from "../../../daemon/host/processes.ts";
import type {
  PaneGuard,
  TerminalServer,
  TerminalServers,
} from "../../../daemon/host/terminal_server.ts";
import { addressee, outgoingMessage, paneTransport } from "../../support/agents/pane_delivery.ts";
import { type Kitty, withKitty } from "../../support/host/private_kitty.ts";
import { type AgentEvent, SCRIPTED_AGENT } from "../../support/host/private_tmux.ts";
import { until } from "../../support/waiting.ts";

const ARRIVES = [
  "hello",
  "a word and another ".repeat(15).trim(),
  Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n"),
  "0123456789abcdef".repeat(500).slice(0, 7_900),
  "héllo 你好 🙂 👩‍👩‍👧 שלום e\u0301 $(id) `id` ${HOME} ; | \\ \" ' # ~ {} %1",
];

/** An agent in a window of its own, after 100 lines of output. */
async function startAgent(kitty: Kitty) {
  const [program, log] = [`${kitty.dir}/agent.ts`, `${kitty.dir}/agent.log`];
  Deno.writeTextFileSync(program, SCRIPTED_AGENT);
  const start = `seq 100; exec ${Deno.execPath()} run -A --no-config ${program} ${log}`;
  const pane = await kitty.open(["sh", "-c", start]);
  const events = (): AgentEvent[] => {
    const lines = Deno.readTextFileSync(log).split("\n").slice(0, -1);
    return lines.map((line): AgentEvent => JSON.parse(line));
  };
  await until("its composer", async () => (await kitty.screen(pane)).includes("? for help"));
  const pid = events()[0]?.ready ?? 0;
  return {
    pane,
    pid,
    submitted: () => events().flatMap(({ submitted }) => submitted ?? []),
    input: () => events().map(({ input }) => input ?? "").join(""),
  };
}

function transportTo(kitty: Kitty) {
  return paneTransport({ tmuxServers: kitty.servers });
}

withKitty(
  "messages arrive exactly in a kitty window, also below a scrolled view",
  async (kitty) => {
    const agent = await startAgent(kitty);
    const peer = addressee({ socket: kitty.address }, agent);
    await kitty.scrollUp(agent.pane);
    for (const text of ARRIVES) {
      // The agent logs a message before it draws its composer again.
      const isReady = async () =>
        (await transportTo(kitty).check(peer, outgoingMessage(text))).ready;
      await until("an empty composer", isReady);
      assert.deepEqual(await transportTo(kitty).deliver(peer, outgoingMessage(text)), {
        state: "sent",
      });
      await until("the message", () => agent.submitted().length > ARRIVES.indexOf(text));
    }
    assert.deepEqual(agent.submitted(), ARRIVES.map((text) => outgoingMessage(text).framed));
  },
);

withKitty("a draft, a dialog and another program are left alone in kitty", async (kitty) => {
  const agent = await startAgent(kitty);
  const peer = addressee({ socket: kitty.address }, agent);
  const deliver = (to = peer) => transportTo(kitty).deliver(to, outgoingMessage("x"));
  await kitty.type(agent.pane, "my draft");
  await until("the draft", async () => (await kitty.screen(agent.pane)).includes("my draft"));
  assert.deepEqual(await deliver(), { state: "refused", reason: "draft_present" });
  Deno.kill(agent.pid, "SIGUSR1");
  await until("the dialog", async () => (await kitty.screen(agent.pane)).includes("Esc to cancel"));
  assert.deepEqual(await deliver(), { state: "refused", reason: "dialog_open" });
  assert.equal(agent.input(), "my draft");
  const elsewhere = { agent_pid: Deno.pid, agent_started: startTimeOf(Deno.pid) ?? null };
  const cases = [
    [{ pane_id: "%1" }, "no_pane"],
    [{ pane_id: "9999" }, "pane_missing"],
    [elsewhere, "agent_elsewhere"],
    [{ tmux_socket: `${kitty.address}.none` }, "kitty_unreachable"],
  ] as const;
  for (const [change, reason] of cases) {
    assert.deepEqual(await deliver({ ...peer, ...change }), { state: "refused", reason });
  }
  await kitty.close(agent.pane);
  await until("the agent's end", () => !isAlive(agent.pid));
  // A busy kitty may not answer while it removes the window; nothing is typed then either.
  await until("the window to be missing", async () => {
    const outcome = await deliver();
    assert.equal(outcome.state, "refused");
    return "reason" in outcome && outcome.reason === "pane_missing";
  });
  kitty.kill();
  await until("kitty's end", async () => !(await kitty.server.panes()).ok);
  assert.deepEqual(await deliver(), { state: "refused", reason: "kitty_unreachable" });
});

withKitty("text that a person types over a draft is entered, and Enter is a key", async (kitty) => {
  const agent = await startAgent(kitty);
  const peer = addressee({ socket: kitty.address }, agent);
  const transport = transportTo(kitty);
  await kitty.type(agent.pane, "my ");
  await until("the draft", async () => (await kitty.screen(agent.pane)).includes("my"));
  const keys = [{ text: "text" }, { key: "Enter" }] as const;
  const refusal = { state: "refused", reason: "draft_present" };
  assert.deepEqual(await transport.typeKeys(peer, keys, new Set()), refusal);
  assert.deepEqual(await transport.typeKeys(peer, keys, new Set(["draft_present"])), {
    state: "typed",
    overruled: ["draft_present"],
  });
  await until("the keys", () => agent.submitted().length === 1);
  assert.deepEqual(agent.submitted(), ["my text"]);
});

/** The same terminals, where `stop` runs right before keys are typed. */
function stoppingAt(servers: TerminalServers, stop: () => void): TerminalServers {
  const at = (address: string): TerminalServer => {
    const server = servers.at(address);
    return {
      kind: server.kind,
      cache: server.cache,
      isPaneId: (text) => server.isPaneId(text),
      panes: () => server.panes(),
      pane: (pane_id) => server.pane(pane_id),
      capture: (pane_id, rows) => server.capture(pane_id, rows),
      screen: (pane_id) => server.screen(pane_id),
      runExclusive: (pane_id, work) => server.runExclusive(pane_id, work),
      async prepare(keys) {
        const ready = await server.prepare(keys);
        if (!ready.ok) return ready;
        const typeIf = (guard: PaneGuard) => {
          stop();
          return ready.prepared.typeIf(guard);
        };
        return { ok: true, prepared: { typeIf, discard: () => ready.prepared.discard() } };
      },
    };
  };
  return { at };
}

withKitty(
  "a message to a kitty that stops as it types is unclear, and typed at most once",
  async (k) => {
    const agent = await startAgent(k);
    const peer = addressee({ socket: k.address }, agent);
    const servers = stoppingAt(k.serversWith(500), () => Deno.kill(k.pid, "SIGSTOP"));
    const receipt = await paneTransport({ tmuxServers: servers }).deliver(
      peer,
      outgoingMessage("once"),
    );
    assert.deepEqual(receipt, { state: "unclear", reason: "kitty_lost" });
    Deno.kill(k.pid, "SIGCONT");
    await until("kitty", async () => (await k.server.panes()).ok);
    assert.ok(agent.input().split("once").length <= 2, agent.input());
    assert.deepEqual(agent.submitted(), []);
  },
);

withKitty("kitty types nothing into a window that has changed since it was seen", async (kitty) => {
  const agent = await startAgent(kitty);
  const { server } = kitty;
  const found = await server.screen(agent.pane);
  assert.ok(found.ok && found.seen);
  const { pane, rows } = found.seen;
  const guard = {
    pane,
    foreground: pane.pane_pid,
    dialog: { pattern: "do you want to (create|make)", row: 0 },
    cursor_row: "❯",
  };
  const row = rows.findIndex((text) => text.includes("Do you want to make")) + 1;
  assert.ok(row > 0 && pane.pane_pid === agent.pid);
  const type = async (change: Partial<typeof guard>) => {
    const ready = await server.prepare([{ text: "x" }, { key: "Enter" }]);
    assert.ok(ready.ok);
    return await ready.prepared.typeIf({ ...guard, dialog: { ...guard.dialog, row }, ...change });
  };
  const cursor_row = rows[pane.cursor_y] ?? "";
  assert.equal(await type({}), "changed");
  assert.equal(await type({ cursor_row, dialog: guard.dialog }), "changed");
  assert.equal(await type({ cursor_row, foreground: 1 }), "changed");
  assert.equal(await type({ cursor_row, pane: { ...pane, pane_pid: 1 } }), "changed");
  assert.equal(
    await type({ cursor_row, pane: { ...pane, cursor_x: pane.cursor_x + 1 } }),
    "changed",
  );
  assert.equal(await type({ cursor_row, pane: { ...pane, pane_id: "999" } }), "changed");
  assert.equal(agent.input(), "");
  assert.equal(await type({ cursor_row }), "done");
  await until("the keys", () => agent.submitted().length === 1);
  assert.deepEqual(agent.submitted(), ["x"]);
});

withKitty(
  "kitty marks a paste where the program asks for it, and breaks no lines",
  async (kitty) => {
    const window = await kitty.open(["sh", "-c", "stty -echo; exec cat > typed"]);
    const { server } = kitty;
    const pane = await until("the program", async () => {
      const found = await server.pane(window);
      return found.ok && found.pane?.command === "cat" ? found.pane : undefined;
    });
    const type = async (key: { paste: string } | { text: string } | { key: "Enter" | "Up" }) => {
      const ready = await server.prepare([key]);
      assert.ok(ready.ok);
      const dialog = { pattern: "Esc", row: 0 };
      const foreground = pane.pane_pid;
      return await ready.prepared.typeIf({ pane, foreground, dialog, cursor_row: undefined });
    };
    assert.equal(await type({ paste: "one\ntwo" }), "unmarked");
    assert.equal(await type({ paste: "one" }), "done");
    assert.equal(await type({ key: "Up" }), "done");
    assert.equal(await type({ key: "Enter" }), "done");
    const typed = () => Deno.readTextFileSync(`${kitty.dir}/typed`);
    await until("the keys", () => typed().includes("\n"));
    assert.equal(typed(), "one\x1b[A\n");
  },
);
