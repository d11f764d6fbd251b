/** The doctor's checks of the bus: each kind of problem is reported with what to do. */

import assert from "node:assert/strict";
import { BUS } from "../../../cli/doctor/bus.ts";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import type { Machines } from "../../../cli/doctor/snapshot.ts";
import { FakeClock } from "../../support/clock.ts";
import { doctorFixture, listeningDaemon } from "../../support/cli/doctor_fixture.ts";

const BUS_OK: Machines["bus"] = {
  status: "connected",
  url: "tls://bus.test:4222",
  since: "2030-01-01T00:00:00.000Z",
  reason: null,
  latency_ms: 1.25,
  daemon_id: "dm-000000000001",
  name: "laptop",
  fingerprint: "0000 1111",
  shared_circles: ["work"],
  waiting_at_bus: 0,
  bytes_at_bus: 10,
  bytes_at_bus_max: 100,
  identity_in_use: null,
  refused: [],
  refused_by: [],
};
const MACHINE: Machines["machines"][number] = {
  daemon_id: "dm-000000000002",
  name: "buildbox",
  fingerprint: "2222 3333",
  status: "online",
  last_seen: "2030-01-01T00:00:00.000Z",
  latency_ms: 2,
  clock_ahead_ms: 0,
  peers: 1,
  waiting: 0,
  oldest_waiting_at: null,
  may_administer: false,
};

interface Changes {
  readonly bus?: Partial<typeof BUS_OK>;
  readonly machine?: Partial<typeof MACHINE>;
}

/** The findings, as `severity CODE`, and the details by code. */
async function check({ bus, machine }: Changes) {
  const machines = { bus: { ...BUS_OK, ...bus }, machines: [{ ...MACHINE, ...machine }] };
  const found = await BUS.run(thisMachine({}, new FakeClock()), { configErrors: [], machines });
  return {
    codes: found.map(([severity, code]) => `${severity} ${code}`),
    details: found.map(([, , detail]) => detail).join("\n"),
    fixes: found.filter(([severity]) => severity !== "ok").map(([, , , fix]) => fix),
  };
}

Deno.test("a machine without a bus, or an older daemon, has nothing to mend", async () => {
  assert.deepEqual(
    (await check({ bus: { status: "disabled", shared_circles: [] } })).codes,
    ["ok BUS_DISABLED"],
  );
  assert.deepEqual(await BUS.run(thisMachine({}, new FakeClock()), { configErrors: [] }), []);
});

Deno.test("a healthy bus passes every check", async () => {
  const { codes, details } = await check({});
  assert.deepEqual(codes, ["ok BUS_CONNECTED", "ok BUS_ROOM", "ok BUS_CLOCK"]);
  assert.match(details, /connected to tls:\/\/bus\.test:4222, 1\.3 ms away/);
});

// deno-fmt-ignore
const CASES: readonly (readonly [what: string, Changes, expected: string, detail: RegExp])[] = [
  ["down",             { bus: { status: "down", reason: "The bus does not answer" } }, "error BUS_DOWN", /does not answer/],
  ["not let in",       { bus: { status: "down", reason: "The bus at b:4222 cannot be used: it does not know this machine's credentials; its operator must allow them" } }, "error BUS_NOT_PERMITTED", /must allow/],
  ["not permitted",    { bus: { status: "down", reason: `it has no permission for "mesh.batch"` } }, "error BUS_NOT_PERMITTED", /mesh\.batch/],
  ["connecting",       { bus: { status: "connecting" } }, "note BUS_CONNECTING", /connecting to/],
  ["nothing shared",   { bus: { shared_circles: [] } }, "note BUS_SHARES_NOTHING", /shares no circle/],
  ["a lag",            { bus: { waiting_at_bus: 101 } }, "warning BUS_LAG", /101 batches/],
  ["nearly full",      { bus: { bytes_at_bus: 80 } }, "warning BUS_FULL", /80 % full/],
  ["full",             { bus: { bytes_at_bus: 95 } }, "error BUS_FULL", /95 % full/],
  ["a clock ahead",    { machine: { clock_ahead_ms: 30_001 } }, "warning BUS_CLOCK_OFF", /buildbox is 30s ahead of/],
  ["a clock behind",   { machine: { clock_ahead_ms: -300_001 } }, "error BUS_CLOCK_OFF", /buildbox is 5m behind/],
  ["messages waiting", { machine: { status: "offline", waiting: 2 } }, "warning MACHINE_OFFLINE", /2 messages and reports wait for buildbox/],
];

for (const [what, changes, expected, detail] of CASES) {
  Deno.test(`the bus is checked: ${what}`, async () => {
    const { codes, details, fixes } = await check(changes);
    assert.ok(codes.includes(expected), codes.join());
    assert.match(details, detail);
    for (const fix of fixes) assert.ok(fix, `${expected} needs a fix`);
  });
}

Deno.test("a value at its limit is not reported", async () => {
  const { codes } = await check({
    bus: { waiting_at_bus: 100, bytes_at_bus: 79 },
    machine: { clock_ahead_ms: -30_000, status: "offline" },
  });
  assert.deepEqual(codes, ["ok BUS_CONNECTED", "ok BUS_ROOM", "ok BUS_CLOCK"]);
  const five = await check({ machine: { clock_ahead_ms: 300_000 } });
  assert.ok(five.codes.includes("warning BUS_CLOCK_OFF"));
});

Deno.test("doctor asks the daemon for its machines", async () => {
  using p = doctorFixture();
  await using at = listeningDaemon({}, (request) => {
    if (new URL(request.url).pathname !== "/machines") return undefined;
    const bus = { ...BUS_OK, status: "down", reason: "The bus does not answer" };
    return Response.json({ bus, machines: [] });
  });
  p.env["MESH_DAEMON__PORT"] = at.port;
  const { code, found } = await p.find();
  assert.equal(found.get("BUS_DOWN")?.detail, "The bus does not answer");
  assert.equal(code, 1);
});
