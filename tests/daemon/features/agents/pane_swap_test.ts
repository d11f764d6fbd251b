/** A whole daemon on real tmux: a pane's program is replaced at the worst moments. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { Adapter } from "../../../../daemon/features/agents/adapter.ts";
import {
  genericAdapter,
  genericScreen,
} from "../../../../daemon/features/agents/generic/generic.ts";
import { PaneTransport } from "../../../../daemon/features/agents/pane_transport.ts";
import { paneObserverOf } from "../../../../daemon/host/tmux/pane_observer.ts";
import { commandOf, foregroundOf, isAlive } from "../../../../daemon/host/processes.ts";
import { RealProcesses } from "../../../support/host/real_processes.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, eventData, get, notify, post } from "../../../support/daemon/peer_clients.ts";
import {
  recorder,
  silent,
  type Terminal,
  until,
  waitSync,
  withTmux,
} from "../../../support/host/private_tmux.ts";

const SETTLE_MS = 30;

/** The last checks of a delivery: before the server pastes, and before it presses Enter. */
type SwapPoint = { paste: () => void } | { enter: () => void };

/** A daemon on this tmux; `onLastCheck` runs right after one of the transport's last checks. */
function fixture({ tmuxServers, socket }: Terminal, onLastCheck?: SwapPoint) {
  const options = {
    terminalServers: tmuxServers,
    clock: systemClock,
    log: silent,
    settle_ms: SETTLE_MS,
  };
  const generic = genericAdapter(options);
  let captures = 0;
  const transport = new PaneTransport({
    ...options,
    screen: {
      ...genericScreen,
      composerEmpty(view) {
        const empty = genericScreen.composerEmpty(view);
        // The dispatcher's check, and two of the delivery.
        if (++captures === 3 && onLastCheck && "paste" in onLastCheck) onLastCheck.paste();
        return empty;
      },
      composerHolds(view, text) {
        const composerHolds = genericScreen.composerHolds(view, text);
        if (composerHolds && onLastCheck && "enter" in onLastCheck) onLastCheck.enter();
        return composerHolds;
      },
    },
  });
  const adapter: Adapter = onLastCheck ? { ...generic, transports: () => [transport] } : generic;
  return world({
    adapters: [adapter],
    processes: new RealProcesses(),
    paneObserver: paneObserverOf(tmuxServers, socket),
  });
}

/** Starts a program that records the lines it reads; returns its pane. */
async function agent(terminal: Terminal, session = "work"): Promise<string> {
  const pane = terminal.start(`printf ready; echo; exec cat > ${terminal.dir}/got`, session);
  await until("the agent", () => terminal.format(pane, "#{pane_current_command}") === "cat");
  return pane;
}

const panePid = (terminal: Terminal, pane: string) => Number(terminal.format(pane, "#{pane_pid}"));

/** Registers the program of a pane. */
function register(w: World, terminal: Terminal, pane_id: string, name = "ada") {
  const location = { pane_id, tmux_socket: terminal.socket, agent_pid: panePid(terminal, pane_id) };
  return addPeer(w, name, { backend: "generic", ...location });
}

/** Replaces the pane's program by one that records its input. */
function respawn(terminal: Terminal, pane: string): void {
  const before = panePid(terminal, pane);
  terminal.cli("respawn-pane", "-k", "-t", pane, recorder(`${terminal.dir}/other`));
  waitSync("the other program", () => terminal.screen(pane).includes("ready"));
  waitSync("the agent's end", () => !isAlive(before));
}

const isOnline = (w: World, peer_id: string) =>
  w.daemon.records.mustGet(peer_id).status === "online";

/** The state of a message once its attempt is over. */
async function waitForSettled(w: World, delivery_id: string) {
  return await until("the end of the try", () => {
    const held = w.daemon.delivery.findMessage(delivery_id);
    return held && held.state !== "attempting" && held.reason !== null ? held : undefined;
  });
}

withTmux("a pane is found, linked and reached; then it is no orphan", async (terminal) => {
  const pane = await agent(terminal);
  await using w = fixture(terminal);
  const before = await get(w, "/panes/orphans");
  assert.partialDeepStrictEqual(before.panes, [{ pane_id: pane, command: "cat", session: "work" }]);
  const path = `/panes/${encodeURIComponent(pane)}/link`;
  const linked = await post(w, path, { backend: "generic", name: "ada" });
  assert.deepEqual([linked.linked, linked.display_name], [true, "ada"]);
  await notify(w, "cli", "ada", "hello");
  assert.match(await until("the message", () => terminal.read("got")), /hello<\/peer-message>\n$/);
  assert.deepEqual((await get(w, "/panes/orphans")).panes, []);
  assert.equal((await post(w, path, { backend: "generic" })).error, "already_linked");
  const { contradictions } = await get(w, "/peers/ada/doctor");
  assert.deepEqual(contradictions, []);
});

withTmux("a shell is not linked: it would execute messages", async (terminal) => {
  const pane = terminal.start("PS1='$ ' bash --norc --noprofile");
  await until("the prompt", () => terminal.screen(pane) === "$");
  await using w = fixture(terminal);
  const answer = await post(w, `/panes/${encodeURIComponent(pane)}/link`, { backend: "generic" });
  assert.partialDeepStrictEqual(answer, { linked: false, reason: "shell_prompt" });
  assert.deepEqual((await get(w, "/peers")).peers, []);
});

withTmux(
  "no text enters a pane whose program is replaced before the paste [c3.pane.owner]",
  async (terminal) => {
    const pane = await agent(terminal);
    await using w = fixture(terminal, { paste: () => respawn(terminal, pane) });
    const { peer_id } = await register(w, terminal, pane);
    const { delivery_id } = await notify(w, "cli", "ada", "for ada alone");
    assert.equal((await waitForSettled(w, delivery_id)).state, "queued");
    const successor = await register(w, terminal, pane, "eve");
    await w.clock.settle();
    assert.partialDeepStrictEqual(eventData(w, "peer_offline"), [{
      peer_id,
      reason: "pane_takeover",
    }]);
    assert.notEqual(successor.peer_id, peer_id);
    assert.deepEqual([terminal.read("got"), terminal.read("other")], ["", ""]);
    assert.equal(terminal.cli("list-buffers"), "");
    assert.deepEqual(w.daemon.deliveryAudit.counts(), { queued: 1 });
  },
);

/** A program that reads each byte as soon as it arrives. */
const SUCCESSOR = `
Deno.stdin.setRaw(true);
Deno.writeTextFileSync(Deno.args[0] + "/alive", "yes");
for await (const bytes of Deno.stdin.readable) {
  Deno.writeFileSync(Deno.args[0] + "/other", bytes, { append: true });
}`;

withTmux("no text reaches the program that follows the agent under the same shell", async (t) => {
  const successor = `${t.program("heir.ts", SUCCESSOR)} ${t.dir}`;
  const combinedProgram = t.program("both.sh", `cat > ${t.dir}/got; ${successor}; :`).replace(
    /^sh/,
    "bash -m",
  );
  const pane = t.start(combinedProgram);
  const pane_pid = panePid(t, pane);
  const below = `/proc/${pane_pid}/task/${pane_pid}/children`;
  const agent_pid = await until("the agent", () => {
    const pid = Number(Deno.readTextFileSync(below).trim());
    return commandOf(pid) === "cat" && foregroundOf(pane_pid) === pid ? pid : undefined;
  });
  const paste = () => {
    Deno.kill(agent_pid, "SIGKILL");
    waitSync("the heir", () => t.read("alive") !== "");
  };
  await using w = fixture(t, { paste });
  const location = { pane_id: pane, tmux_socket: t.socket, agent_pid };
  await addPeer(w, "ada", { backend: "generic", ...location });
  const { delivery_id } = await notify(w, "cli", "ada", "for ada alone");
  assert.equal((await waitForSettled(w, delivery_id)).state, "queued");
  assert.equal(panePid(t, pane), pane_pid, "for tmux the pane is the same");
  assert.deepEqual([t.read("got"), t.read("other"), t.cli("list-buffers")], ["", "", ""]);
  await w.tick();
  assert.partialDeepStrictEqual(eventData(w, "peer_offline"), [{ reason: "agent_exited" }]);
});

withTmux(
  "no Enter reaches a program that replaces the agent behind the pasted text",
  async (t) => {
    const pane = await agent(t);
    await using w = fixture(t, { enter: () => respawn(t, pane) });
    await register(w, t, pane);
    const { delivery_id } = await notify(w, "cli", "ada", "for ada alone");
    const { state, reason } = await waitForSettled(w, delivery_id);
    assert.deepEqual(
      [state, reason],
      ["sent", "typed_not_submitted"],
      "pasted once, so it is not sent again",
    );
    await systemClock.sleep(3 * SETTLE_MS); // A late Enter would come within this time.
    assert.deepEqual([t.read("got"), t.read("other"), t.cli("list-buffers")], ["", "", ""]);
  },
);

withTmux(
  "replacing the program at any moment of a delivery leaks no text to another one",
  async (terminal) => {
    terminal.start("exec sleep 1000", "keep");
    for (let turn = 0; turn < 8; turn++) {
      const pane = await agent(terminal, `s${turn}`);
      await using w = fixture(terminal);
      await register(w, terminal, pane);
      const { delivery_id } = await notify(w, "cli", "ada", "for ada alone");
      await systemClock.sleep(turn * 12);
      respawn(terminal, pane);
      const { state } = await until("the end of the try", () => {
        const held = w.daemon.delivery.findMessage(delivery_id);
        return held && held.state !== "attempting" ? held : undefined;
      });
      await systemClock.sleep(3 * SETTLE_MS); // A late Enter would come within this time.
      assert.equal(terminal.read("other"), "", `after ${turn * 12} ms: ${state}`);
      assert.equal(terminal.cli("list-buffers"), "");
      terminal.cli("kill-session", "-t", `s${turn}`);
    }
  },
);

withTmux(
  "a peer known only by its pane goes offline with the pane, and with the server",
  async (terminal) => {
    await using w = fixture(terminal);
    for (
      const [name, end] of [
        ["ada", (pane: string) => terminal.cli("kill-pane", "-t", pane)],
        ["bob", () => terminal.killServer()],
      ] as const
    ) {
      const pane = await agent(terminal, name);
      terminal.start("exec sleep 1000", `beside-${name}`);
      const location = { pane_id: pane, tmux_socket: terminal.socket };
      const { peer_id } = await addPeer(w, name, { backend: "generic", ...location });
      await w.tick(3);
      assert.equal(w.daemon.records.mustGet(peer_id).status, "online");
      end(pane);
      for (let tick = 0; tick < 100 && isOnline(w, peer_id); tick++) {
        await w.tick(3);
        await systemClock.sleep(20);
      }
      assert.equal(isOnline(w, peer_id), false);
      assert.equal(eventData(w, "peer_offline").at(-1)?.["reason"], "agent_exited");
    }
  },
);

withTmux(
  "a kill ends the agent's own process, and leaves the next pane alone",
  async (terminal) => {
    const pane = await agent(terminal);
    const beside = terminal.start("exec sleep 1000", "beside");
    await using w = fixture(terminal);
    const { peer_id } = await register(w, terminal, pane);
    const pid = panePid(terminal, pane);
    const killing = post(w, "/peers/ada/kill");
    await until("its end", () => !isAlive(pid));
    await w.clock.advance(100);
    assert.partialDeepStrictEqual(await killing, { ok: true, agent_pid: pid, signal: "SIGTERM" });
    assert.equal(w.daemon.records.mustGet(peer_id).status, "retired");
    assert.ok(isAlive(panePid(terminal, beside)));
  },
);
