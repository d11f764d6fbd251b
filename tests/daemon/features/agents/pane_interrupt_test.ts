/** Escape in an agent's terminal, against real tmux: how often, and only while a turn is shown. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { AgentPeer } from "../../../../daemon/features/agents/adapter.ts";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import { codexScreen } from "../../../../daemon/features/agents/codex/codex.ts";
import { copilotScreen } from "../../../../daemon/features/agents/copilot/copilot.ts";
import { geminiScreen } from "../../../../daemon/features/agents/gemini/gemini.ts";
import { opencodeScreen } from "../../../../daemon/features/agents/opencode/opencode.ts";
import { interruptInPane } from "../../../../daemon/features/agents/pane_interrupt.ts";
import { type Screen, stripEscapes } from "../../../../daemon/features/agents/screens.ts";
import { isStopped } from "../../../../daemon/host/processes.ts";
import { addressee } from "../../../support/agents/pane_delivery.ts";
import { type Terminal, until, waitSync, withTmux } from "../../../support/host/private_tmux.ts";

/**
 * An agent with Claude Code's composer. In a turn it shows the words for each Escape that it needs.
 * An Escape outside of a turn opens a rewind dialog. SIGUSR1 ends the turn, SIGUSR2 opens a dialog.
 */
const AGENT = String.raw`
const [log, ...hints] = Deno.args;
const note = (text) => Deno.writeTextFileSync(log, text + "\n", { append: true });
const rule = "─".repeat(100);
let step = 0, dialog = false;
function draw() {
  const footer = step < hints.length ? "  " + hints[step] : "  ? for help";
  const rows = dialog
    ? [" Do you want to create perm.txt?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel · Tab to amend"]
    : ["  he said: esc to interrupt", rule, "❯\u00a0a draft\x1b7", rule, footer + "\x1b8"];
  Deno.stdout.writeSync(new TextEncoder().encode("\x1b[2J\x1b[H" + rows.join("\r\n")));
}
Deno.addSignalListener("SIGUSR1", () => { step = hints.length; draw(); note("ended"); });
Deno.addSignalListener("SIGUSR2", () => { dialog = true; draw(); });
Deno.stdin.setRaw(true);
draw();
note("ready " + Deno.pid);
for await (const input of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  for (const char of input) {
    if (char !== "\x1b") note("key " + JSON.stringify(char));
    else if (dialog) note("answered");
    else if (step >= hints.length) note("rewind");
    else note(++step === hints.length ? "interrupted" : "escape");
  }
  draw();
}
`;

const ONE = ["esc to interrupt"] as const;
const TWO = ["esc esc interrupt", "esc again to interrupt"] as const;

interface Running {
  readonly pid: number;
  readonly peer: AgentPeer;
  readonly notes: () => string[];
}

/** Starts the agent in a turn; its peer is reported to work. */
async function agentAtWork(t: Terminal, hints: readonly string[]): Promise<Running> {
  const words = hints.map((hint) => `'${hint}'`).join(" ");
  // tmux continues a stopped program that it has started itself.
  const pane = t.start(`${t.program("agent.ts", AGENT)} ${t.dir}/notes ${words}; true`);
  const notes = () => t.read("notes").split("\n").slice(0, -1);
  const pid = Number(await until("the agent", () => /ready (\d+)/.exec(notes()[0] ?? "")?.[1]));
  await until("its turn", () => t.screen(pane).includes(hints[0] ?? "?"));
  const peer: AgentPeer = { ...addressee(t, { pane, pid }), turn_state: "working" };
  return { pid, peer, notes: () => notes().slice(1) };
}

function interrupt(
  { tmuxServers: terminalServers }: Terminal,
  peer: AgentPeer,
  hints: readonly [string, ...string[]] = ONE,
  more: Partial<Parameters<typeof interruptInPane>[0]> = {},
) {
  const { work } = claudeScreen;
  assert.ok(work);
  const screen: Screen = { ...claudeScreen, work: { ...work, hints, takes_back: "edit prompt" } };
  return interruptInPane({ terminalServers, clock: systemClock, screen, ...more }, peer);
}

for (const [hints, by] of [[ONE, "Escape"], [TWO, "two Escapes"]] as const) {
  withTmux(`an agent that needs ${by} gets exactly that, and an idle one nothing`, async (t) => {
    const { peer, notes } = await agentAtWork(t, hints);
    const done = await interrupt(t, peer, hints);
    assert.deepEqual(done, { state: "asked", by: `${by} in its terminal` });
    await until("the end", () => notes().includes("interrupted"));
    assert.deepEqual(await interrupt(t, peer, hints), { state: "idle" });
    assert.deepEqual(notes(), [...hints.slice(1).map(() => "escape"), "interrupted"]);
  });
}

withTmux("no Escape goes to a turn that ends between the check and the key", async (t) => {
  const { pid, peer, notes } = await agentAtWork(t, ONE);
  const isWorking = () => {
    // The last check before the key; the terminal compares once more.
    Deno.kill(pid, "SIGUSR1");
    waitSync("the end", () => notes().includes("ended"));
    return true;
  };
  assert.deepEqual(await interrupt(t, peer, ONE, { isWorking }), { state: "idle" });
  assert.deepEqual([...new Set(notes())], ["ended"]);
});

withTmux("no second Escape goes to a turn that the first one has ended", async (t) => {
  const { peer, notes } = await agentAtWork(t, ["esc esc interrupt"]);
  const done = await interrupt(t, peer, TWO);
  assert.deepEqual(done, { state: "asked", by: "Escape in its terminal" });
  assert.deepEqual(notes(), ["interrupted"]);
});

withTmux(
  "no Escape goes to a dialog, to an idle record, or to a turn that takes its prompt back",
  async (t) => {
    const { pid, peer, notes } = await agentAtWork(t, ["esc esc edit prompt"]);
    const refusal = async (peer: AgentPeer) => {
      const attempt = await interrupt(t, peer, ["esc esc edit"]);
      return attempt.state === "refused" ? attempt.reason : attempt.state;
    };
    assert.equal(await refusal(peer), "turn_begins");
    const idle = await interrupt(t, { ...peer, turn_state: "idle" }, ["esc esc edit"], {
      screen: { ...claudeScreen, work: { hints: ["esc esc edit"], rowOf: () => 4 } },
    });
    assert.deepEqual(idle, { state: "refused", reason: "turn_unproved" });
    assert.equal(await refusal({ ...peer, pane_id: "%99" }), "pane_missing");
    assert.equal(await refusal({ ...peer, agent_pid: null }), "no_process");
    Deno.kill(pid, "SIGUSR2");
    await until("the dialog", () => t.screen(peer.pane_id ?? "").includes("Esc to cancel"));
    assert.equal(await refusal(peer), "at_dialog");
    assert.deepEqual(notes(), []);
  },
);

withTmux("a frozen agent gets no Escape", async (t) => {
  const { pid, peer, notes } = await agentAtWork(t, ONE);
  Deno.kill(pid, "SIGSTOP");
  await until("the stop", () => isStopped(pid));
  const refused = await interrupt(t, peer).finally(() => Deno.kill(pid, "SIGCONT"));
  assert.deepEqual(refused, { state: "refused", reason: "not_foreground" });
  assert.deepEqual(notes(), []);
});

const SCREENS: readonly [string, Screen][] = [
  ["claude-code", claudeScreen],
  ["codex", codexScreen],
  ["gemini", geminiScreen],
  ["copilot", copilotScreen],
  ["opencode", opencodeScreen],
];

for (const [agent, screen] of SCREENS) {
  Deno.test(`${agent}: its recorded screens show a turn that Escape interrupts, or none`, () => {
    const dir = `tests/golden/screens/${agent}`;
    for (const { name } of Deno.readDirSync(dir)) {
      const text = Deno.readTextFileSync(`${dir}/${name}`);
      const lines = text.split("\n");
      const row = lines.findLastIndex((line) => /^\W*[❯›>]/.test(stripEscapes(line)));
      const view = { above: [], lines, cursor_x: 2, cursor_y: row };
      const { hints: [first] = [""], takes_back } = screen.work ?? {};
      const words = [first, takes_back].filter((words) => words !== undefined);
      const isShown = words.some((words) => screen.work?.rowOf(view, words) !== undefined);
      const isAtWork = name === "busy.txt" || agent === "opencode" && /^(empty|draft)\./.test(name);
      assert.equal(isShown, isAtWork, name);
    }
  });
}
