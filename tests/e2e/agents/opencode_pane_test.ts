/** Real opencode without its plugin: typed into when it is safe, and left alone when it is not. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { AgentPeer } from "../../../daemon/features/agents/adapter.ts";
import { PaneTransport } from "../../../daemon/features/agents/pane_transport.ts";
import { opencodeScreen } from "../../../daemon/features/agents/opencode/opencode.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { outgoingNotification } from "../../support/agents/outgoing_message.ts";
import { SEARCH_PATH, silent } from "../../support/host/private_tmux.ts";
import { inLongForm, withLab } from "../../support/e2e/lab.ts";
import { opencodeCli } from "../../support/e2e/installed_agents.ts";
import { OpencodeLab } from "../../support/e2e/opencode_lab.ts";
import { TOUCHES } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/waiting.ts";

function addressee({ tmux_socket, pane: { pid, pane_id } }: OpencodeLab): AgentPeer {
  return {
    peer_id: "peer-1",
    backend: "opencode",
    tmux_socket,
    pane_id,
    agent_pid: pid,
    agent_started: startTimeOf(pid) ?? null,
    runtime_session_id: null,
    turn_state: null,
    metadata: {},
  };
}

inLongForm(withLab)(import.meta.url, "opencode without a plugin: its pane", async () => {
  await using lab = new OpencodeLab([TOUCHES]);
  await lab.start();
  const ctx = { clock: systemClock, log: silent };
  await using tmuxServers = new TmuxServers({
    ...ctx,
    ids: randomIds,
    state_dir: lab.dir,
    search_path: SEARCH_PATH,
  });
  const transport = new PaneTransport({
    ...ctx,
    terminalServers: tmuxServers,
    screen: opencodeScreen,
  });
  const peer = addressee(lab);
  const refusal = async () => {
    const ready = await transport.check(peer, outgoingNotification("notif-000000000000", "x"));
    return ready.ready ? undefined : ready.reason;
  };
  await until("an empty composer", async () => await refusal() === undefined);
  await systemClock.sleep(5_000); // Earlier input is lost.

  const messages = [
    outgoingNotification("notif-aaaaaaaaaaaa", "one line"),
    outgoingNotification(
      "notif-bbbbbbbbbbbb",
      `many lines\n${"of a text\n".repeat(40)}and an end`,
    ),
  ];
  for (const message of messages) {
    assert.deepEqual(await transport.deliver(peer, message), { state: "sent" });
    await until(message.proof_id, () => lab.model.promptOccurrences(message.proof_id) === 1);
    await until("an empty composer", async () => await refusal() === undefined);
  }

  lab.type("a half-typed thought");
  await until("the draft", () => lab.screen.includes("half-typed"));
  assert.equal(await refusal(), "draft_present");
  lab.press("C-u");
  await until("an empty composer", async () => await refusal() === undefined);

  await lab.sendPrompt("Touch it, please");
  await until("the dialog", () => lab.screen.includes("Allow once"));
  assert.equal(await refusal(), "dialog_open");
  assert.deepEqual(
    await transport.deliver(peer, outgoingNotification("notif-cccccccccccc", "no")),
    {
      state: "refused",
      reason: "dialog_open",
    },
  );
  assert.throws(() => Deno.statSync(`${lab.folder}/touched`), Deno.errors.NotFound);
}, opencodeCli);
