import assert from "node:assert/strict";
import { join as joinPath } from "node:path";
import * as z from "zod";
import { redact } from "../../../../../daemon/features/spawn/commands.ts";
import { FakeClock } from "../../../../support/clock.ts";
import { countingIds } from "../../../../support/ids.ts";
import { FakeProcesses } from "../../../../support/world.ts";
import { eventData, get, post } from "../../../../support/daemon/peer_clients.ts";
import {
  agentInPane,
  restartAndRegister,
  type SpawningWorld,
} from "../../../../support/daemon/restarts.ts";
import { codex, FakeTerminals, generic, spawningWorld } from "../../../../support/daemon/spawns.ts";

const Row = z.object({ peer_id: z.string(), status: z.string() });

/** A daemon that ends in the middle of a restart, and its successor. */
async function restartAfterCrash(
  until: (fixture: SpawningWorld) => Promise<void>,
  { ends = false, turn_state = "idle", deaf = [] }: {
    readonly ends?: boolean;
    readonly turn_state?: string;
    readonly deaf?: string[];
  },
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
  terminals.deaf = deaf;
  try {
    {
      await using fixture = await spawningWorld({ ...shared, terminals });
      const same = { ...fixture, terminals };
      await agentInPane(same, { turn_state });
      await post(fixture.w, "/peers/api/restart", { wait: false, message: "Go on" });
      await until(same);
    }
    if (ends) { for (const { pane_pid } of terminals.panes.values()) terminals.end(pane_pid); }
    await using fixture = await spawningWorld({ ...shared, terminals });
    await fixture.w.clock.settle();
    const notes = eventData(fixture.w, "notification").length;
    const records = fixture.w.daemon.ctx.db.all(
      z.object({ status: z.string(), failed: z.string().nullable() }),
      "select status, failed from restarts join peers using (peer_id)",
    );
    return { answer: await get(fixture.w, "/peers/api/restart"), notes, records };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("after a crash during a restart its record shows the true outcome [3.peer.restart.journal]", async () => {
  const waits = ({ w }: SpawningWorld) => w.clock.advance(1000);
  const waiting = await restartAfterCrash(waits, { turn_state: "working" });
  assert.deepEqual([waiting.answer.outcome, waiting.answer.failed.reason], [
    "failed",
    "daemon_restart",
  ]);
  const stopping = await restartAfterCrash(stops, { deaf: ["SIGTERM", "SIGKILL"] });
  assert.deepEqual([stopping.answer.failed.stage, stopping.answer.failed.reason], [
    "stop",
    "daemon_restart",
  ]);
  assert.equal(stopping.records[0]?.status, "online", "the old process was not stopped");
  const gone = await restartAfterCrash(waitForLaunch, { ends: true });
  assert.deepEqual([gone.answer.failed.stage, gone.answer.failed.reason], [
    "register",
    "daemon_restart",
  ]);
  assert.equal(gone.notes, 0);
  const runs = await restartAfterCrash(waitForLaunch, {});
  assert.equal(runs.answer.outcome, "restarted", "the running process proves the launch");
});

/** Advances a restart until it waits for the old process to end. */
async function stops({ w }: SpawningWorld): Promise<void> {
  await w.clock.advance(500);
}

/** Advances a restart until it waits for the new agent to register. */
async function waitForLaunch({ w, terminals }: SpawningWorld): Promise<void> {
  while (terminals.launches.length === 0) await w.clock.advance(250);
  await w.clock.settle();
}

const remove = ({ w }: SpawningWorld) => w.fetch("/peers/api", { method: "DELETE" });
const retire = ({ w }: SpawningWorld) => post(w, "/peers/api/offline", { terminal: true });

Deno.test("a peer that is removed or retired during its restart is not brought back [3.peer.delete.tombstone]", async () => {
  for (const [end, reason] of [[remove, "peer_gone"], [retire, "retired"]] as const) {
    for (const stage of ["stop", "register"] as const) {
      await using fixture = await spawningWorld({ adapters: [codex, generic], hooks: {} });
      const { w, terminals } = fixture;
      const { peer_id } = await agentInPane(fixture);
      terminals.deaf = ["SIGTERM", "SIGKILL"];
      const { restart_id } = await post(w, "/peers/api/restart", { wait: false });
      await w.clock.advance(500); // SIGTERM was sent.
      if (stage === "register") {
        terminals.deaf = [];
        await waitForLaunch(fixture);
      }
      await end(fixture);
      terminals.deaf = [];
      await w.clock.advance(80_000);
      const peers = w.daemon.ctx.db.all(Row, "select peer_id, status from peers");
      assert.deepEqual(peers, [{ peer_id, status: "retired" }], `${reason} at ${stage}`);
      const failed = eventData(w, "peer_restart_failed").find((event) =>
        event["restart_id"] === restart_id
      );
      assert.equal(failed?.["reason"], reason, stage);
      assert.equal(terminals.launches.length, stage === "stop" ? 0 : 1);
      assert.deepEqual(w.logged, []);
    }
  }
});

Deno.test("after a crash the restart of a removed or retired peer has failed, and the daemon starts", async () => {
  for (const end of [remove, retire]) {
    const { records: [entry] } = await restartAfterCrash(async (fixture) => {
      await waitForLaunch(fixture);
      await end(fixture);
    }, {});
    assert.equal(entry?.status, "retired");
    assert.match(entry?.failed ?? "", /"reason":"daemon_restart"/);
  }
});

Deno.test("a redacted command keeps flags, permission words, models and the daemon's arguments [4.peers.restart-redacts]", () => {
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

Deno.test("no secret of a command is in the response, the record or the events [4.peers.restart-redacts]", async () => {
  await using fixture = await spawningWorld();
  const { w } = fixture;
  await agentInPane(fixture);
  const { answer } = await restartAndRegister(fixture);
  const { rows } = { rows: w.daemon.ctx.events.read({ since: 0, limit: 1000 }) };
  const all = JSON.stringify([answer, await get(w, "/peers/api"), rows]);
  assert.ok(all.includes("s-1") && !all.includes("k-secret"));
});
