/** Real Claude Code without a pane or a socket of ours: its own hook wakes it, and then ends. */

import assert from "node:assert/strict";
import { getTrace } from "protocol/messages/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { argumentsOf } from "../../../daemon/host/processes.ts";
import { Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

/** A daemon, and a Claude Code after `mesh setup`. */
class ClaudeFixture implements AsyncDisposable {
  readonly lab = new Lab({ bare: true });

  async up(): Promise<void> {
    await this.lab.mesh.setUp();
    await this.lab.mesh.up();
  }

  get call() {
    return this.lab.mesh.call;
  }

  async peer() {
    const { peers } = await this.call(listPeers, { query: {} });
    return peers.find(({ backend }) => backend === "claude-code");
  }

  /** Notifies the session; returns the stages once the message was seen. */
  async tell(text: string): Promise<string[]> {
    const to_peer = (await this.peer())?.peer_id ?? "";
    const body = { from_peer: "script", to_peer, text, bypass_circle: true };
    const { delivery_id } = await this.call(notifyPeer, { body });
    const params = { trace_id: delivery_id };
    const stages = async () => (await this.call(getTrace, { params })).stages;
    await until(text, async () => (await stages()).some(({ stage }) => stage === "seen"));
    return (await stages()).flatMap(({ stage, detail }) =>
      ["attempting", "sent", "seen"].includes(stage) ? `${stage} ${detail ?? ""}`.trim() : []
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

/** Our hooks that wait now, in this namespace of processes. */
function countWaitingHooks(): number {
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name))
    .filter((pid) => argumentsOf(pid)?.slice(-3).join(" ") === "hook claude-code Wake").length;
}

withLab(
  import.meta.url,
  "a Claude Code without a pane and a socket is woken while idle, repeatedly",
  async () => {
    await using fixture = new ClaudeFixture();
    await fixture.up();
    const claude = await fixture.lab.claude("api", { without_tmux_env: true });
    const socket = claude.session?.messagingSocketPath ?? "";
    Deno.removeSync(socket);
    await claude.sendPrompt("@@SAY ready");
    await until("its hook", async () => (await fixture.peer())?.transport === "hook");
    assert.equal((await fixture.peer())?.pane_id, null);
    for (const text of ["Lindau", "Bregenz", "Konstanz"]) {
      assert.deepEqual(await fixture.tell(text), ["attempting hook", "sent", "seen"]);
      await until(
        "the model",
        () => fixture.lab.model.requests.some(({ raw }) => raw.includes(text)),
      );
      await until("its next hook", async () => (await fixture.peer())?.transport === "hook");
    }
    await until("one hook that waits", () => countWaitingHooks() === 1);
    await fixture.lab.endAgents();
    await until("the hook's end", () => countWaitingHooks() === 0);
  },
);

withLab(
  import.meta.url,
  "no hook waits for a Claude Code that has a better transport",
  async () => {
    await using fixture = new ClaudeFixture();
    await fixture.up();
    const claude = await fixture.lab.claude("api");
    await claude.sendPrompt("@@SAY ready");
    await until("its turn's end", async () => (await fixture.peer())?.turn_state === "idle");
    // A hook of the session's start waits until the tools of mesh have connected.
    await until("its inbox", async () => (await fixture.peer())?.transport === "native");
    await until("no hook", () => countWaitingHooks() === 0);
    assert.deepEqual(await fixture.tell("Lindau"), ["attempting native", "sent", "seen"]);
    await until("no hook", () => countWaitingHooks() === 0);
  },
);
