import assert from "node:assert/strict";
import { join as joinPath } from "node:path";
import { countingIds, FakeClock } from "kit/clock.ts";
import { redact } from "../../daemon/spawn/commands.ts";
import { FakeProcesses } from "../world.ts";
import { get, post, said } from "./cast.ts";
import { agent, type House, restartAndComeBack } from "./restarting.ts";
import { codex, FakeTerminals, generic, spawningWorld } from "./spawning.ts";

/** A daemon that is gone in the middle of a restart, and one that comes after it. */
async function crashed(
  until: (house: House) => Promise<void>,
  { ends = false, turn_state = "idle" },
) {
  const dir = await Deno.makeTempDir();
  const shared = {
    clock: new FakeClock(),
    ids: countingIds(),
    processes: new FakeProcesses(),
    db_path: joinPath(dir, "mesh.db"),
    adapters: [codex, generic],
  };
  const terminals = new FakeTerminals(shared.processes);
  try {
    {
      await using house = await spawningWorld({ ...shared, terminals });
      const same = { ...house, terminals };
      await agent(same, { turn_state });
      await post(house.w, "/peers/api/restart", { wait: false, message: "Go on" });
      await until(same);
    }
    if (ends) { for (const { pane_pid } of terminals.panes.values()) terminals.end(pane_pid); }
    await using house = await spawningWorld({ ...shared, terminals });
    await house.w.clock.settle();
    const notes = said(house.w, "notification").length;
    return { answer: await get(house.w, "/peers/api/restart"), notes, w: house.w };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("after a crash in mid-restart the journal tells the truth [3.peer.restart.journal]", async () => {
  const waits = ({ w }: House) => w.clock.advance(1000);
  const waiting = await crashed(waits, { turn_state: "working" });
  assert.deepEqual([waiting.answer.outcome, waiting.answer.failed.reason], [
    "failed",
    "daemon_restart",
  ]);
  const launched = async ({ w, terminals }: House) => {
    while (terminals.launches.length === 0) await w.clock.advance(250);
    await w.clock.settle();
  };
  const gone = await crashed(launched, { ends: true });
  assert.deepEqual([gone.answer.failed.stage, gone.answer.failed.reason], [
    "register",
    "daemon_restart",
  ]);
  assert.equal(gone.notes, 0);
  const runs = await crashed(launched, {});
  assert.equal(runs.answer.outcome, "restarted", "what was launched runs: that is evidence");
});

Deno.test("a shown command keeps flags, permission words, models and what the daemon supplied [4.peers.restart-redacts]", () => {
  const models = new Set(["opus"]);
  const shown = (argv: string[], supplied: string[] = []) => redact(argv, supplied, models);
  assert.deepEqual(shown(["/home/sam/bin/claude", "--model", "opus"]), [
    "claude",
    "--model",
    "opus",
  ]);
  assert.deepEqual(shown(["claude", "--model", "sonnet"]), ["claude", "--model", "[redacted]"]);
  assert.deepEqual(shown(["c", "--permission-mode=plan", "--key=sk-1", "--key="]), [
    "c",
    "--permission-mode=plan",
    "--key=[redacted]",
    "--key=[redacted]",
  ]);
  assert.deepEqual(shown(["env", "TOKEN=x", "claude"], ["--resume", "s-1"]), [
    "env",
    "[redacted]",
    "[redacted]",
    "--resume",
    "s-1",
  ]);
  assert.deepEqual(shown(["c", "-ksecret", "-p", "s-1", "--", "a\nb"], ["s-1"]), [
    "c",
    "-k[redacted]",
    "-p",
    "[redacted]",
    "--",
    "[redacted]",
    "s-1",
  ]);
  assert.deepEqual(shown(["KEY=sk/1", "claude"]), ["[redacted]", "[redacted]"]);
  assert.deepEqual(shown(["c", "--2fa-key", "--x\ny", "--token=a\nb"]), [
    "c",
    "[redacted]",
    "[redacted]",
    "--token=[redacted]",
  ]);
});

Deno.test("no secret of a command is in the answer, the journal or the events [4.peers.restart-redacts]", async () => {
  await using house = await spawningWorld();
  const { w } = house;
  await agent(house);
  const { answer } = await restartAndComeBack(house);
  const { rows } = { rows: w.daemon.ground.events.read({ since: 0, limit: 1000 }) };
  const all = JSON.stringify([answer, await get(w, "/peers/api"), rows]);
  assert.ok(all.includes("s-1") && !all.includes("k-secret"));
});
