/** Surfaces that reconnect: catch-up, late receipts, restarts. */

import assert from "node:assert/strict";
import { join as pathOf } from "node:path";
import { FakeClock } from "../../../support/clock.ts";
import { countingIds } from "../../../support/ids.ts";
import { FakeProcesses, world } from "../../../support/world.ts";
import { get, notify, post } from "../../../support/daemon/peer_clients.ts";
import {
  lastSentItem,
  notifyAndShow,
  pushTo,
  sendReceipt,
  sentItems,
  surface,
} from "../../../support/daemon/surfaces.ts";

const settings = { "human.name": "sam" };
const withHuman = () => world({ settings });
const HOUR_MS = 3_600_000;
const texts = (socket: Parameters<typeof sentItems>[0]) =>
  sentItems(socket).map(({ item }) => item.text);

Deno.test("a failed push is repeated only when the surface reconnects", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  await notify(w, "ada", "sam", "Once");
  const { delivery_id } = lastSentItem(phone);
  await sendReceipt(phone, delivery_id, { status: "failed", error_class: "network" });
  for (let n = 0; n < 3; n++) await w.tick(61);
  assert.deepEqual(texts(phone), ["Once"]);
  await phone.drop();
  const reconnected = await surface(w, "phone");
  assert.deepEqual(sentItems(reconnected).map((frame) => frame.delivery_id), [delivery_id]);
  await sendReceipt(reconnected, delivery_id, { status: "pushed", surface_ref: "7" });
  const push = await pushTo(w, sentItems(reconnected)[0]?.item.item_id ?? "", "phone");
  assert.deepEqual([push?.status, push?.surface_ref, push?.error_class], ["pushed", "7", null]);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 2 });
  const { stages } = await get(w, `/traces/${delivery_id}`);
  assert.deepEqual(stages.map(({ stage }: { stage: string }) => stage), [
    "created",
    "resolved",
    "queued",
    "failed",
    "attempting",
    "sent",
    "accepted",
  ]);
  const failed = stages.find(({ status }: { status: string }) => status === "fail");
  assert.deepEqual([failed.stage, failed.detail], ["failed", "network"]);
});

Deno.test("a new surface gets the unread items of the last 24 h, oldest first [c4.surface.catch-up]", async () => {
  await using w = withHuman();
  await notify(w, "ada", "sam", "too old");
  await w.clock.advance(24 * HOUR_MS + 1000);
  w.daemon.tick();
  for (const text of ["first", "read already", "second"]) await notify(w, "ada", "sam", text);
  const { items } = await get(w, "/inbox");
  await post(w, `/inbox/${items[1].item_id}/read`, {});
  const phone = await surface(w, "phone");
  assert.deepEqual(texts(phone), ["first", "second"]);
  for (const { delivery_id } of sentItems(phone)) await sendReceipt(phone, delivery_id);
  await phone.drop();
  assert.deepEqual(sentItems(await surface(w, "phone")), [], "each is shown once");
});

Deno.test("a surface that connects gets the items that it missed in the last 24 h, oldest first [c4.surface.catch-up]", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  await notify(w, "ada", "sam", "too old");
  await phone.drop();
  await w.tick(2);
  const earlyReconnect = await surface(w, "phone");
  await notify(w, "ada", "sam", "failed");
  await sendReceipt(earlyReconnect, lastSentItem(earlyReconnect).delivery_id, {
    status: "failed",
    error_class: "x",
  });
  await notify(w, "ada", "sam", "said nothing");
  await notify(w, "ada", "sam", "shown");
  await sendReceipt(earlyReconnect, lastSentItem(earlyReconnect).delivery_id);
  await earlyReconnect.drop();
  assert.deepEqual((await notify(w, "ada", "sam", "while away")).surfaces, []);
  await w.clock.advance(24 * HOUR_MS - 1000);
  w.daemon.tick();
  const late = await surface(w, "phone");
  assert.deepEqual(texts(late), ["failed", "said nothing", "while away"]);
  await late.drop();
  await w.clock.advance(2000);
  w.daemon.tick();
  const later = await surface(w, "phone");
  assert.deepEqual(texts(later), []);
});

Deno.test("items that arrive during a catch-up come after it", async () => {
  await using w = withHuman();
  await (await surface(w, "phone")).drop();
  for (let n = 1; n <= 250; n++) await notify(w, "ada", "sam", String(n));
  const phone = w.socket();
  const connecting = phone.connect({ display_name: "phone", capabilities: ["inbox_surface"] });
  await notify(w, "ada", "sam", "251");
  await connecting;
  await w.clock.settle();
  assert.deepEqual(texts(phone).map(Number), Array.from({ length: 251 }, (_, n) => n + 1));
});

Deno.test("no items are kept for a surface that is disconnected for a week", async () => {
  await using w = withHuman();
  await (await surface(w, "old")).drop();
  const phone = await surface(w, "phone");
  for (let n = 0; n < 8; n++) await w.clock.advance(24 * HOUR_MS);
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { pushes } = await get(w, `/inbox/${inbox_item_id}`);
  assert.deepEqual(pushes.map(({ surface }: { surface: string }) => surface), ["phone"]);
  assert.equal(sentItems(phone).length, 1);
  await phone.drop();
  await notify(w, "ada", "sam", "The surface is disconnected");
  assert.equal(
    sentItems(await surface(w, "phone")).at(-1)?.item.text,
    "The surface is disconnected",
  );
});

Deno.test("a late receipt counts after a reconnect, and its item is not sent again", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { delivery_id } = lastSentItem(phone);
  await phone.drop();
  const reconnected = w.socket();
  const connecting = reconnected.connect({
    display_name: "phone",
    capabilities: ["inbox_surface"],
  });
  await connecting;
  await sendReceipt(reconnected, delivery_id, { status: "pushed", surface_ref: "5" });
  assert.equal((await pushTo(w, inbox_item_id, "phone"))?.surface_ref, "5");
  await reconnected.drop();
  assert.deepEqual(sentItems(await surface(w, "phone")), []);
});

Deno.test("a failed push that is shown after all counts as pushed", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { inbox_item_id = "" } = await notify(w, "ada", "sam");
  const { delivery_id } = lastSentItem(phone);
  await sendReceipt(phone, delivery_id, {
    status: "failed",
    error_class: "x",
    surface_refs: ["1"],
  });
  await sendReceipt(phone, delivery_id, {
    status: "pushed",
    surface_ref: "3",
    surface_refs: ["3"],
  });
  const push = await pushTo(w, inbox_item_id, "phone");
  assert.deepEqual([push?.status, push?.surface_ref, push?.surface_refs], [
    "pushed",
    "3",
    ["1", "3"],
  ]);
  assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 2 });
});

Deno.test("a newer connection of a surface replaces it, with the same name and peer", async () => {
  await using w = withHuman();
  const first = await surface(w, "phone");
  await notify(w, "ada", "sam", "Before");
  const second = await surface(w, "phone", { path: "/elsewhere", circle: "other" });
  assert.deepEqual([first.closed?.code, second.closed], [4009, undefined]);
  const id = (socket: typeof first) => socket.of("connected")[0]?.peer_id;
  assert.equal(id(second), id(first));
  assert.deepEqual(texts(second), ["Before"]);
  await w.clock.settle();
  const { surfaces } = await notify(w, "ada", "sam", "After");
  assert.deepEqual([surfaces, texts(first), texts(second)], [
    ["phone"],
    ["Before"],
    ["Before", "After"],
  ]);
});

Deno.test("a surface that the operator closed is offered no items until it connects as a new peer", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { peer_id } = await get(w, "/peers/phone");
  for (const text of ["1", "2", "3"]) await notify(w, "ada", "sam", text);
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  await w.clock.settle();
  assert.equal(phone.closed?.code, 4004);
  const { inbox_item_id = "", surfaces } = await notify(w, "ada", "sam", "4");
  assert.deepEqual([surfaces, await pushTo(w, inbox_item_id, "phone")], [[], undefined]);
  const reconnected = await surface(w, "phone");
  assert.notEqual(reconnected.of("connected")[0]?.peer_id, peer_id);
  assert.deepEqual(texts(reconnected), ["1", "2", "3", "4"]);
  for (const { delivery_id } of sentItems(reconnected)) await sendReceipt(reconnected, delivery_id);
  await reconnected.drop();
  assert.deepEqual(texts(await surface(w, "phone")), []);
});

Deno.test("an unregistered or non-addressable surface gets no items meanwhile", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { peer_id } = await get(w, "/peers/phone");
  await notify(w, "ada", "sam", "Before");
  await post(w, "/peer/unregister", { peer_id });
  await w.clock.settle();
  await notify(w, "ada", "sam", "Unregistered");
  const reconnected = await surface(w, "phone");
  assert.deepEqual([phone.closed?.code, reconnected.of("connected")[0]?.peer_id], [1001, peer_id]);
  assert.deepEqual(texts(reconnected), ["Before", "Unregistered"]);
  await post(w, `/peers/${peer_id}/provenance`, { addressable: false });
  const { inbox_item_id = "" } = await notify(w, "ada", "sam", "Not addressable");
  assert.deepEqual((await get(w, `/inbox/${inbox_item_id}`)).pushes, []);
  assert.deepEqual(texts(reconnected), ["Before", "Unregistered"]);
});

Deno.test("a surface that reconnects under another name is still one surface", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const { peer_id } = await get(w, "/peers/phone");
  await post(w, `/peers/${peer_id}/name`, { name: "wall" });
  await phone.drop();
  const wall = await surface(w, "wall");
  assert.equal(wall.of("connected")[0]?.peer_id, peer_id);
  const { surfaces, inbox_item_id = "" } = await notify(w, "ada", "sam", "Once");
  assert.deepEqual([surfaces, texts(wall)], [["wall"], ["Once"]]);
  assert.equal(await pushTo(w, inbox_item_id, "phone"), undefined);
});

Deno.test("a disconnected surface is not listed until it reconnects", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  await phone.drop();
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, []);
  assert.equal((await get(w, "/peers/phone")).status, "offline");
  await surface(w, "phone");
  assert.deepEqual((await notify(w, "ada", "sam")).surfaces, ["phone"]);
});

Deno.test("after a restart, unconfirmed pushes are sent again, and shown ones are not", async () => {
  const directory = Deno.makeTempDirSync();
  const shared = { clock: new FakeClock(), ids: countingIds(), processes: new FakeProcesses() };
  const start = () => world({ settings, db_path: pathOf(directory, "mesh.db"), ...shared });
  try {
    const ids = await (async () => {
      await using w = start();
      const phone = await surface(w, "phone");
      await notifyAndShow(w, phone, "1");
      await notify(w, "ada", "sam", "no receipt");
      await notify(w, "ada", "sam", "failed");
      const [, , failed] = sentItems(phone);
      await sendReceipt(phone, failed?.delivery_id ?? "", { status: "failed", error_class: "x" });
      return sentItems(phone).map(({ delivery_id }) => delivery_id);
    })();
    await using w = start();
    await notify(w, "ada", "sam", "after the restart");
    const phone = await surface(w, "phone");
    assert.deepEqual(texts(phone), ["no receipt", "failed", "after the restart"]);
    assert.deepEqual(
      sentItems(phone).map(({ delivery_id }) => delivery_id).slice(0, 2),
      ids.slice(1),
    );
    for (const { delivery_id } of sentItems(phone)) await sendReceipt(phone, delivery_id);
    assert.deepEqual(w.daemon.deliveryAudit.counts(), { accepted: 8 });
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
});

Deno.test("the queue limit does not apply to surfaces", async () => {
  await using w = world({ settings: { ...settings, "daemon.queue.max_per_peer": "1" } });
  await (await surface(w, "phone")).drop();
  for (let n = 0; n < 5; n++) await notify(w, "ada", "sam", String(n));
  assert.equal(sentItems(await surface(w, "phone")).length, 5);
});
