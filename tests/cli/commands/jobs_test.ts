/** `mesh jobs`, against a daemon in memory. */

import assert from "node:assert/strict";
import { formatInstant } from "../../../cli/output/time.ts";
import { runCli } from "../../../cli.ts";
import { type World, world } from "../../support/world.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { connectWorker, job, list, stateOf, template } from "../../support/daemon/jobs.ts";

async function fixture() {
  const w: World = world();
  const api = await connectWorker(w);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const env = {
    MESH_CONFIG: "/none",
    MESH_STATE: "/none",
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    w,
    api,
    async mesh(args: string[], columns?: number) {
      const { terminal, lines } = capturedTerminal(columns === undefined ? {} : { columns });
      const code = await runCli(["jobs", ...args], env, terminal, w.clock);
      await w.clock.settle();
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

/** The id at the start of a line. */
const idOf = (line: string) => /^(?:work|cal)-[0-9a-f]{12}/.exec(line)?.[0] ?? "";

Deno.test("mesh jobs create assigns a job, show shows it, and result prints its result", async () => {
  await using at = await fixture();
  const { mesh, api, w } = at;
  const made = await mesh([
    "create",
    "Fix the test\nIt is flaky",
    "--to",
    "api",
    "--owner",
    "api",
  ]);
  assert.deepEqual([made.code, made.err], [0, ""]);
  assert.match(made.out, /^work-[0-9a-f]{12} {2}queued\n$/);
  const id = idOf(made.out);
  const { title, provenance } = await job(w, id);
  assert.deepEqual([title, provenance["created_by"]], ["Fix the test", "cli"]);
  await api.beginTurn();
  const shown = await mesh(["show", id]);
  assert.match(shown.out, /state +running/);
  assert.equal((await mesh(["status", id])).out, shown.out);
  assert.match(shown.out, /^ {2}It is flaky$/m);
  assert.match(shown.out, /attempt 1 {2}running {2}assigned api +attempt-/);
  await api.endTurn("It was the clock\nNow it is fake");
  const result = await mesh(["result", id]);
  assert.equal(result.out, "It was the clock\nNow it is fake\n");
  assert.equal(JSON.parse((await mesh(["result", id, "--json"])).out).state, "completed");
});

Deno.test("mesh jobs prints a table that fits; without jobs it prints how to create one [c7.jobs]", async () => {
  await using at = await fixture();
  const { mesh } = at;
  assert.match((await mesh([])).out, /^No jobs\. Create one with: mesh jobs create/);
  await mesh(["create", `A long title ${"that goes on ".repeat(20)}`, "--to", "api"]);
  await mesh([
    "create",
    "Look",
    "--to",
    "api",
    "--cron",
    "0 9 * * 1-5",
    "--timezone",
    "Europe/Berlin",
  ]);
  for (const columns of [60, 80, 120]) {
    const { out } = await mesh(["list"], columns);
    const lines = out.trimEnd().split("\n");
    assert.ok(lines.every((line) => line.length <= columns), out);
    assert.match(out, /work-[0-9a-f]{12} {2}delivered {2}api /);
    assert.match(out, /cal-[0-9a-f]{12} {2}active/);
  }
  const { out } = await mesh(["list"]);
  const next = formatInstant("2030-01-01T08:00:00.000Z");
  assert.ok(out.replaceAll(/ +/g, " ").includes(`0 9 * * 1-5 Europe/Berlin ${next} Look`), out);
  assert.equal((await mesh(["list", "--state", "sleeping"])).code, 2);
  assert.match((await mesh(["list", "--state", "paused"])).out, /^No jobs/);
  assert.deepEqual(Object.keys(JSON.parse((await mesh(["list", "--json"])).out)), [
    ...["work", "recurring"],
  ]);
});

Deno.test("times are given as instants or from now; anything else is refused before sending", async () => {
  await using at = await fixture();
  const { mesh, w } = at;
  const times = ["--due", "10m", "--deadline", "in 2h", "--expires", "2030-01-01T05:00:00+02:00"];
  const id = idOf((await mesh(["create", "Later", "--to", "api", ...times])).out);
  const { due_at, deadline_at, expires_at } = await job(w, id);
  assert.deepEqual([due_at, deadline_at, expires_at], [
    "2030-01-01T00:10:00.000Z",
    "2030-01-01T02:00:00.000Z",
    "2030-01-01T03:00:00.000Z",
  ]);
  const refused = async (...args: string[]) => {
    const { code, err } = await mesh(["create", "Go", ...args]);
    return [code, /^mesh: (.*)$/m.exec(err)?.[1]];
  };
  assert.match(
    String(await refused("--to", "api", "--due", "soon")),
    /^2,--due: "soon" is not a time/,
  );
  const far = await refused("--to", "api", "--due", "999999999w");
  assert.match(String(far), /^2,--due: "999999999w" is not a time/);
  assert.match(
    String(await refused("--path", "/", "--backend", "rm")),
    /^2,--backend: "rm" is not one of/,
  );
  assert.match(String(await refused("--to", "api", "--continuity", "x")), /^2,--continuity/);
  assert.match(String(await refused("--to", "nobody")), /^1,Unknown peer/);
  assert.match(String(await refused()), /^2,.*use --to PEER, or --path FOLDER --backend NAME/);
  assert.equal((await list(w)).work.length, 1);
});

Deno.test("run, retry, cancel, pause, resume and update change a job and print its new state", async () => {
  await using at = await fixture();
  const { mesh, api, w } = at;
  const id = idOf((await mesh(["create", "Later", "--to", "api", "--due", "1d"])).out);
  assert.match((await mesh(["run", id])).out, /^work-\w+ {2}queued/);
  assert.equal(await stateOf(w, id), "delivered");
  assert.equal((await mesh(["retry", id])).code, 0);
  await api.beginTurn();
  const held = await mesh([
    "update",
    id,
    "--phase",
    "waiting_for_ci",
    "--progress",
    "60",
    "--note",
    "On",
  ]);
  assert.match(held.out, /running {2}waiting_for_ci {2}60 %/);
  const refused = await mesh(["update", id, "--state", "completed"]);
  assert.deepEqual([refused.code, /--attempt/.test(refused.err)], [1, true]);
  assert.equal((await mesh(["update", id, "--state", "sleeping"])).code, 2);
  assert.match((await mesh(["cancel", id, "Not needed"])).out, /cancelled/);
  assert.equal((await job(w, id)).cancellation_reason, "Not needed");
  assert.equal((await mesh(["run", id])).code, 1);
  const cal = idOf((await mesh(["create", "Look", "--to", "api", "--cron", "@daily"])).out);
  assert.match((await mesh(["pause", cal])).out, /^cal-\w+ {2}paused\n$/);
  assert.match((await mesh(["resume", cal])).out, /^cal-\w+ {2}active {2}next 20/);
  assert.match((await mesh(["show", cal])).out, /fires +@daily/);
  assert.match((await mesh(["cancel", cal])).out, /cancelled/);
  assert.equal((await template(w, cal)).state, "cancelled");
});

Deno.test("an action that a job's state does not allow is answered with the reason and the way on", async () => {
  await using at = await fixture();
  const { mesh, w } = at;
  const spawned = idOf((await mesh(["create", "x", "--path", "/x", "--backend", "codex"])).out);
  assert.equal(await stateOf(w, spawned), "unavailable");
  const done = idOf((await mesh(["create", "x", "--to", "api"])).out);
  await mesh(["cancel", done]);
  const cron = idOf((await mesh(["create", "x", "--to", "api", "--cron", "@daily"])).out);
  const retry = `\`mesh jobs retry ${spawned}\` starts it again`;
  const cases: [string[], string][] = [
    [["cancel", spawned], `it could not be started, and has ended; ${retry}`],
    [["update", spawned, "--progress", "5"], `it could not be started, and has ended; ${retry}`],
    [["cancel", done], "it was cancelled before"],
    [["retry", done], "it was cancelled before"],
    [["run", done], "it was cancelled before"],
    [["update", done, "--progress", "5"], "it was cancelled before"],
    [["pause", done], "only a recurring job can be paused and resumed; its id begins with cal-"],
    [
      ["retry", cron],
      "it is a recurring job; do that to one of its runs, whose ids begin with work-",
    ],
    [["resume", cron], "it is active"],
  ];
  for (const [args, why] of cases) {
    const { code, out, err } = await mesh(args);
    const [action = "", id = ""] = args;
    const expected = `mesh: Cannot ${action} ${id}: ${why}\nhint: see \`mesh jobs show ${id}\`\n`;
    assert.deepEqual([code, out, err], [1, "", expected]);
  }
  await mesh(["cancel", cron]);
  assert.match((await mesh(["cancel", cron])).err, /Cannot cancel cal-\w+: it is cancelled/);
});

Deno.test("jobs create --on-interrupt reaches the job", async () => {
  await using at = await fixture();
  const made = await at.mesh(["create", "x", "--to", "api", "--on-interrupt", "wait"]);
  assert.equal((await job(at.w, idOf(made.out))).execution.on_interrupt, "wait");
  const wrong = await at.mesh(["create", "x", "--to", "api", "--on-interrupt", "later"]);
  assert.deepEqual([wrong.code, wrong.out], [2, ""]);
});

Deno.test("--follow prints each state until the end; its exit code is the outcome", async () => {
  await using at = await fixture();
  const { mesh, api, w } = at;
  const follow = async (args: string[], work: () => Promise<void>) => {
    const following = mesh([...args, "--follow"]);
    let done = false;
    const watched = following.finally(() => done = true);
    while (api.fires().length === 0) await w.clock.advance(500);
    await work();
    while (!done) {
      await w.clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return await watched;
  };
  const pause = async () => {
    for (let turn = 0; turn < 20; turn++) {
      await w.clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const good = await follow(["create", "Mend", "--to", "api"], async () => {
    await pause();
    await api.beginTurn();
    await pause();
    await api.endTurn("Mended");
  });
  assert.equal(good.code, 0);
  assert.match(good.out, /queued\n.*delivered\n.*running {2}turn_started\n.*completed\nMended\n$/s);
  const id = idOf((await mesh(["create", "Again", "--to", "api"])).out);
  const bad = await follow(["show", id], async () => {
    await pause();
    await w.fetch(`/peers/${api.peer_id}/offline`, { method: "POST", body: '{"terminal":true}' });
  });
  assert.equal(bad.code, 1);
  assert.match(bad.out, /failed {2}\(executor_died\)\nThe executor ended/);
});
