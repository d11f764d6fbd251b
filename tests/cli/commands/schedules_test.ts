/** `mesh schedule`, against a daemon in memory. */

import assert from "node:assert/strict";
import { formatInstant } from "../../../cli/output/time.ts";
import { runCli } from "../../../cli.ts";
import { world } from "../../support/world.ts";
import { addPeer, get } from "../../support/daemon/peer_clients.ts";
import { Terminal } from "../../../cli/output/terminal.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { ids, readSchedule } from "../../support/daemon/schedules.ts";

async function fixture() {
  const w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
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
    async mesh(args: string[], columns?: number) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(args, env, new Terminal({ ...terminal.device, columns }), w.clock);
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

const FROM = ["--from", "ada"];

Deno.test("a digest is named in the list of schedules, and in each of them", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  await mesh(["schedule", "create", "sam", "Hi", "--digest", "--cron", "@daily", "--from", "sam"]);
  const [id = ""] = await ids(w);
  assert.match((await mesh(["schedule", "show", id])).out, /\nkind +notify, with digest\n/);
  assert.match((await mesh(["schedule"])).out, /notify, with digest/);
});

/** When the messages of these tests are due, as it is printed. */
const AT = formatInstant("2030-01-01T02:00:00.000Z");

Deno.test("mesh schedule create prints the time, and show the outcome [c7.schedule]", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  const made = await mesh(["schedule", "create", "bob", "Stand up", "--at", "in 2h", ...FROM]);
  assert.deepEqual([made.code, made.err], [0, ""]);
  assert.match(made.out.replace(AT, "AT"), /^scheduled {2}to bob: at AT {2}sched-\w{12}\n$/);
  const [id = ""] = await ids(w);
  const before = (await mesh(["schedule", "show", id])).out;
  assert.match(before, /^schedule +sched-\w+\nstate +active\nfrom +ada\nto +bob\nkind +notify\n/);
  assert.match(before.replaceAll(AT, "AT"), /\nnext +AT\n/);
  assert.match(before, /\n\nStand up\n$/);
  await w.tick(7200);
  const after = (await mesh(["schedule", "show", id])).out;
  assert.match(after, /\nstate +fired\n/);
  assert.match(after.replaceAll(AT, "AT"), /\nlast fire +AT {2}fired\nmessage +notif-\w{12}\n/);
});

Deno.test("a time without an offset is local, and so is a cron pattern", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  const wall = "2031-07-01T09:00";
  await mesh(["schedule", "create", "bob", "x", "--at", wall.replace("T", " "), ...FROM]);
  await mesh(["schedule", "create", "bob", "x", "--cron", "0 9 * * 1-5", ...FROM]);
  const zone = ["--timezone", "Asia/Tokyo"];
  await mesh(["schedule", "create", "bob", "x", "--ask", "--cron", "@daily", ...zone, ...FROM]);
  const { schedules } = await get(w, "/schedules");
  const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const found = schedules.map(({ fire_at, timezone, kind }: Record<string, unknown>) =>
    [fire_at, timezone, kind].join()
  );
  const expected = [
    `${new Date(Date.parse(wall)).toISOString()},,notify`,
    `,${here},notify`,
    ",Asia/Tokyo,ask",
  ];
  assert.deepEqual(found.sort(), expected.sort());
});

Deno.test("mesh schedule list prints a table that fits, or the answer with --json", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  assert.match(
    (await mesh(["schedule"])).out,
    /^No scheduled messages\. .* mesh schedule create\n$/,
  );
  const long = "A very long text that no terminal has room for, again and again. ".repeat(5);
  await mesh(["schedule", "create", "bob", long, "--at", "3d", ...FROM]);
  await mesh(["schedule", "create", "bob", "Brief\u001b[31m", "--cron", "@hourly", ...FROM]);
  for (const columns of [200, 80, 40]) {
    const { out } = await mesh(["schedule", "list"], columns);
    const lines = out.trimEnd().split("\n");
    assert.equal(lines.length, 3);
    for (const line of lines) assert.ok(line.length <= columns, `${columns}: ${line}`);
    assert.equal(out.includes("\u001b"), false);
  }
  const { out } = await mesh(["schedule", "list"]);
  assert.match(out, /^ID +STATE +NEXT +WHEN +FROM +TO +KIND +TEXT\n/);
  assert.match(out, /\nsched-\w+ +active +in 1h +@hourly \(.+\) +ada +bob +notify +Brief\n/);
  const { schedules } = JSON.parse((await mesh(["schedule", "list", "--json"])).out);
  assert.deepEqual(
    schedules.map((schedule: { schedule_id: string }) => schedule.schedule_id),
    await ids(w),
  );
  assert.match((await mesh(["schedule", "list", "--to", "ada"])).out, /^No scheduled messages/);
  assert.equal((await mesh(["schedule", "list", "--state", "late"])).code, 2);
});

Deno.test("mesh schedule edit and delete change an active message, and are refused afterwards", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  await mesh(["schedule", "create", "bob", "Stand up", "--at", "3h", ...FROM]);
  const [id = ""] = await ids(w);
  const change = ["--at", "1h", "--text", "Sit down", "--kind", "ask", "--to", "sam"];
  const changed = await mesh(["schedule", "edit", id, ...change]);
  const due = formatInstant("2030-01-01T01:00:00.000Z");
  assert.ok(changed.out.startsWith(`changed  to sam: at ${due}  sched-`), changed.out);
  const { text, kind } = await readSchedule(w, id);
  assert.deepEqual([text, kind], ["Sit down", "ask"]);
  assert.match((await mesh(["schedule", "delete", id])).out, /^cancelled {2}sched-\w+\n$/);
  const late = await mesh(["schedule", "edit", id, "--text", "x"]);
  assert.equal(late.code, 1);
  assert.match(
    late.err,
    /is cancelled, and only an active one can be changed\nhint: create a new schedule/,
  );
  assert.equal((await mesh(["schedule", "show", "sched-0"])).code, 1);
});

Deno.test("mesh schedule with no time, two times or no change is wrong usage", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  const create = ["schedule", "create", "bob", "x", ...FROM];
  const wrong = [
    create,
    [...create, "--at", "1h", "--cron", "@daily"],
    ["schedule", "edit", "sched-0"],
    ["schedule", "edit", "sched-0", "--kind", "shout"],
  ];
  for (const args of wrong) assert.equal((await mesh(args)).code, 2, args.join(" "));
  const refused = await mesh([...create, "--at", "tomorrow"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /"tomorrow" is not an instant with its offset, such as .* 10m, in 2h/);
  assert.deepEqual(await ids(w), []);
});

Deno.test("a failed message shows its reason in the list", async () => {
  await using at = await fixture();
  const { w, mesh } = at;
  const { peer_id } = await addPeer(w, "tom");
  await mesh(["schedule", "create", "tom", "x", "--at", "1m", ...FROM]);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.tick(60);
  const { out } = await mesh(["schedule", "list", "--state", "failed"]);
  assert.match(out, /\nsched-\w+ +failed: unknown_peer /);
});
