/** Real opencode without its plugin: typed into when it is safe, and left alone when it is not. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Addressee } from "../../../daemon/features/agents/adapter.ts";
import { paneRung } from "../../../daemon/features/agents/pane.ts";
import { opencodeScreen } from "../../../daemon/features/agents/opencode/screen.ts";
import { startOf } from "../../../daemon/host/processes.ts";
import { Tmuxes } from "../../../daemon/host/tmux/tmux.ts";
import { noteParcel } from "../../support/agents/outgoing_message.ts";
import { SEARCH_PATH, silent } from "../../support/host/private_tmux.ts";
import { withLab } from "../../support/e2e/lab.ts";
import { opencodeCli } from "../../support/e2e/installed_agents.ts";
import { OpencodeLab } from "../../support/e2e/opencode_lab.ts";
import { TOUCHES } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/e2e/waiting.ts";

function addressee({ tmux_socket, pane: { pid, pane_id } }: OpencodeLab): Addressee {
  return {
    peer_id: "peer-1",
    backend: "opencode",
    tmux_socket,
    pane_id,
    agent_pid: pid,
    agent_started: startOf(pid) ?? null,
    runtime_session_id: null,
    turn_state: null,
    metadata: {},
  };
}

withLab(import.meta.url, "opencode without a plugin: its pane", async () => {
  await using lab = new OpencodeLab([TOUCHES]);
  await lab.start();
  const ground = { clock: systemClock, log: silent };
  await using tmuxes = new Tmuxes({
    ...ground,
    ids: randomIds,
    state_dir: lab.dir,
    search_path: SEARCH_PATH,
  });
  const rung = paneRung({ ...ground, tmuxes, screen: opencodeScreen });
  const peer = addressee(lab);
  const refusal = async () => {
    const ready = await rung.check(peer, noteParcel("notif-000000000000", "x"));
    return ready.ready ? undefined : ready.reason;
  };
  await until("an empty composer", async () => await refusal() === undefined);
  await systemClock.sleep(5_000); // What is pasted before is lost.

  const messages = [
    noteParcel("notif-aaaaaaaaaaaa", "one line"),
    noteParcel("notif-bbbbbbbbbbbb", `many lines\n${"of a text\n".repeat(40)}and an end`),
  ];
  for (const message of messages) {
    assert.deepEqual(await rung.deliver(peer, message), { state: "sent" });
    await until(message.proof_id, () => lab.model.timesSaid(message.proof_id) === 1);
    await until("an empty composer", async () => await refusal() === undefined);
  }

  lab.type("a half-typed thought");
  await until("the draft", () => lab.screen.includes("half-typed"));
  assert.equal(await refusal(), "draft_present");
  lab.press("C-u");
  await until("an empty composer", async () => await refusal() === undefined);

  await lab.say("Touch it, please");
  await until("the dialog", () => lab.screen.includes("Allow once"));
  assert.equal(await refusal(), "dialog_open");
  assert.deepEqual(await rung.deliver(peer, noteParcel("notif-cccccccccccc", "no")), {
    state: "refused",
    reason: "dialog_open",
  });
  assert.throws(() => Deno.statSync(`${lab.folder}/touched`), Deno.errors.NotFound);
}, opencodeCli);
