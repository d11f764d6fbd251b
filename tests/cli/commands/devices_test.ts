/** `mesh open --phone`, `mesh devices` and `mesh push`, against a daemon in memory. */

import assert from "node:assert/strict";
import { encode } from "uqr";
import { PUSH } from "../../../cli/doctor/push.ts";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import type { PushDevices } from "../../../cli/doctor/snapshot.ts";
import { qrLines } from "../../../cli/output/qr.ts";
import { FakeClock } from "../../support/clock.ts";
import { serveDaemon } from "../../support/cli/listening_daemon.ts";
import { FakePushService } from "../../support/push/push_service.ts";
import { Phone, pushOptions, WITH_SAM } from "../../support/push/push_world.ts";
import { BASE, world } from "../../support/world.ts";

function fixture(settings: Record<string, string> = {}) {
  const service = new FakePushService();
  const more = { settings: { ...WITH_SAM, ...settings }, at_terminal: true };
  const w = world(pushOptions(service, more));
  service.now = () => w.clock.now();
  const { mesh, stop } = serveDaemon(w);
  const at = {
    w,
    /** As a person at a terminal. */
    mesh: (...args: string[]) => mesh(args, {}, { interactive: true }),
    async [Symbol.asyncDispose]() {
      await stop();
      await w[Symbol.asyncDispose]();
    },
  };
  return { service, at };
}

Deno.test("open --phone shows a QR code, the addresses and a code that pairs one browser", async () => {
  const { at } = fixture({ "daemon.allowed_hosts": "mesh.example" });
  await using _at = at;
  const { code, out } = await at.mesh("open", "--phone");
  assert.equal(code, 0);
  const [pairing = ""] = /(?:[0-9A-Z]{4}-){4}[0-9A-Z]{4}/.exec(out) ?? [];
  assert.match(out, /open https:\/\/mesh\.example\/pair\nand enter the code /);
  for (const line of qrLines(`https://mesh.example/pair#${pairing}`) ?? [""]) {
    assert.ok(out.includes(line.trimEnd()));
  }
  const paired = await at.w.post("/pair", { code: pairing, name: "phone" }, { origin: BASE });
  assert.equal(paired.status, 200);
  const listed = await at.mesh("devices");
  const [id = ""] = /dev-[0-9a-f]{12}/.exec(listed.out) ?? [];
  assert.match(listed.out, /phone/);
  assert.equal((await at.mesh("devices", "remove", id)).out, "removed\n");
  assert.match((await at.mesh("devices")).out, /No devices/);
});

Deno.test("open --phone says so where no phone can reach this machine", async () => {
  const { at } = fixture();
  await using _at = at;
  const { code, out, err } = await at.mesh("open", "--phone");
  assert.deepEqual([code, out], [0, ""]);
  assert.match(err, /No address of this machine can be reached from a phone\.\nConnect a relay/);
  assert.match(err, /listens on this machine only/);
});

Deno.test("push lists the devices, tests one and removes it", async () => {
  const { service, at } = fixture();
  await using _at = at;
  assert.match((await at.mesh("push")).out, /No device gets notifications/);
  const phone = await Phone.open(at.w, service);
  const { subscription_id: id } = await phone.subscribe({ done: false });
  assert.match((await at.mesh("push")).out, /phone +questions, approvals +—/);
  assert.equal((await at.mesh("push", "test", id)).code, 0);
  await at.w.clock.settle();
  assert.equal(service.last.kind, "test");
  assert.match((await at.mesh("push")).out, /taken: HTTP 201/);
  assert.equal((await at.mesh("push", "remove", id)).out, "removed\n");
});

Deno.test("the squares of a code in the terminal are those of the code, with a quiet field", () => {
  const lines = qrLines("https://relay.example/pair") ?? [];
  const { data } = encode("https://relay.example/pair", { ecc: "M", border: 0 });
  const isLight = (row: number, column: number) => {
    const drawn = lines[Math.floor(row / 2)]?.[column];
    return drawn === "█" || drawn === (row % 2 ? "▄" : "▀");
  };
  for (const [row, squares] of data.entries()) {
    for (const [column, dark] of squares.entries()) {
      assert.equal(isLight(row + 4, column + 4), !dark);
    }
  }
  assert.ok([0, 1, 2, 3].every((at) => isLight(at, 0) && isLight(10, at)));
  assert.equal(qrLines("x".repeat(3000)), undefined);
});

const DEVICE = { name: "phone", end_reason: null, ended_at: null, last: null };

Deno.test("the doctor names devices that get no more notifications, and only for a person", async () => {
  const check = async (...devices: unknown[]) => {
    const push = devices as PushDevices;
    const found = await PUSH.run(thisMachine({}, new FakeClock()), { configErrors: [], push });
    return found.map(([severity, code]) => `${severity} ${code}`);
  };
  assert.deepEqual(await check(DEVICE), ["ok PUSH_OK"]);
  const ended = { ...DEVICE, ended_at: "2030-01-01T00:00:00.000Z", end_reason: "gone" };
  const failed = { ...DEVICE, last: { state: "failed", reason: "HTTP 403" } };
  assert.deepEqual(await check(DEVICE, ended, failed), [
    "warning PUSH_ENDED",
    "warning PUSH_FAILED",
  ]);
  assert.deepEqual(await PUSH.run(thisMachine({}, new FakeClock()), { configErrors: [] }), []);
});
