/** The connection to the bus, with a fake clock and a scripted bus. */

import assert from "node:assert/strict";
import {
  type Bus,
  BusError,
  type BusListener,
  type BusStatus,
} from "../../../daemon/machines/bus.ts";
import { BusConnection, type OpenBus } from "../../../daemon/machines/connection.ts";
import { FakeClock } from "../../support/clock.ts";
import { eventData } from "../../support/daemon/peer_clients.ts";
import { countingIds } from "../../support/ids.ts";
import { world } from "../../support/world.ts";

const URL_OF_BUS = "tls://bus.test:4222";
const REASON = "The bus at bus.test:4222 cannot be used: nothing listens there";

/** A bus that does what its test sets. */
class ScriptedBus implements Bus {
  readonly listener: BusListener;
  readonly published: string[] = [];
  measured = 0;
  closed = 0;
  roundTripMs: () => Promise<number> = () => Promise.resolve(3);
  #status: BusStatus = { status: "connecting", since: 0, reason: null };

  constructor(listener: BusListener) {
    this.listener = listener;
  }

  become(status: BusStatus["status"], reason: string | null = null): void {
    this.#status = { status, since: 0, reason };
    this.listener.changed(this.#status);
  }

  status = () => this.#status;
  publish(to: string, id: string): Promise<void> {
    this.published.push(`${to} ${id}`);
    return Promise.resolve();
  }
  call = (_to: string, request: Uint8Array) => Promise.resolve(request);
  announce = () => Promise.resolve();
  withdraw = () => Promise.resolve();
  beat = () => Promise.resolve();
  canBeat = () => true;
  putFile = () => Promise.resolve();
  getFile = () => Promise.resolve(null);
  deleteFile = () => Promise.resolve();
  heardAt(): number | null {
    return null;
  }

  roundTrip(): Promise<number> {
    this.measured++;
    return this.roundTripMs();
  }
  backlog = () => Promise.resolve({ waiting: 2, bytes: 10, max_bytes: 100 });
  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}

/** A connection whose owner records what it is told; `openBus` may be replaced by a test. */
function fixture(given: { openBus?: OpenBus; drawn?: string } = {}) {
  const clock = new FakeClock();
  const w = world({ clock });
  const opened: ScriptedBus[] = [];
  const told: string[] = [];
  const openBus: OpenBus = given.openBus ?? ((listener) => {
    const bus = new ScriptedBus(listener);
    opened.push(bus);
    return Promise.resolve(bus);
  });
  const { drawn } = given;
  const ids = drawn === undefined ? countingIds() : { ...countingIds(), hex: () => drawn };
  const connection = new BusConnection({ ...w.daemon.ctx, ids }, {
    url: URL_OF_BUS,
    daemon_id: "dm-000000000001",
    name: "laptop",
    fingerprint: "0000 0000",
    shared_circles: ["work"],
  }, openBus);
  const owner: BusListener = {
    batch: (from) => Promise.resolve(void told.push(`batch from ${from}`)),
    call: (_from, request) => Promise.resolve(request),
    announced: (daemonId) => void told.push(`announced ${daemonId}`),
    changed: ({ status }) => void told.push(status),
  };
  return {
    w,
    clock,
    connection,
    told,
    opened,
    async start(): Promise<ScriptedBus> {
      connection.start(owner);
      await clock.settle();
      return opened[0] ?? assert.fail("No bus was opened");
    },
    begin: () => connection.start(owner),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await w[Symbol.asyncDispose]();
    },
  };
}

Deno.test("the connection follows the bus: connecting, connected, down and connected again", async () => {
  await using at = fixture();
  const bus = await at.start();
  assert.equal(at.connection.status().status, "connecting");
  await at.clock.advance(5000);
  bus.become("connected");
  const since = at.clock.now();
  assert.deepEqual(at.connection.status(), { status: "connected", since, reason: null });
  bus.become("down", REASON);
  assert.deepEqual(at.connection.status(), { status: "down", since, reason: REASON });
  bus.become("connected");
  assert.equal(at.connection.status().reason, null);
  assert.deepEqual(at.told, ["connecting", "connecting", "connected", "down", "connected"]);
});

Deno.test("the event bus_status reports a change once, with its reason", async () => {
  await using at = fixture();
  const bus = await at.start();
  for (let attempt = 0; attempt < 5; attempt++) {
    bus.become("down", `${REASON} ${attempt}`);
    bus.become("connecting");
  }
  bus.become("connected");
  await at.clock.advance(1000);
  assert.deepEqual(eventData(at.w, "bus_status"), [
    { status: "down", url: URL_OF_BUS, reason: `${REASON} 0` },
    { status: "connected", url: URL_OF_BUS, reason: null },
  ]);
});

Deno.test("while it connects again, the reason of the last failure stays in the report", async () => {
  await using at = fixture();
  const bus = await at.start();
  bus.become("down", REASON);
  bus.become("connecting");
  const { status, reason } = await at.connection.report();
  assert.deepEqual([status, reason], ["connecting", REASON]);
});

Deno.test("a bus that cannot be opened is opened again after pauses that double up to a minute", async () => {
  const opened_at: number[] = [];
  let now = () => 0;
  await using at = fixture({
    drawn: "ffff",
    openBus: () => {
      opened_at.push(now());
      return Promise.reject(new Error("This machine has no user for the bus"));
    },
  });
  now = () => at.clock.now();
  at.begin();
  await at.clock.advance(200_000);
  const pauses = opened_at.slice(1).map((at, index) => at - (opened_at[index] ?? 0));
  const rounded = pauses.map((ms) => Math.round(ms / 10) * 10);
  assert.deepEqual(rounded, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(at.connection.status().reason, "This machine has no user for the bus");
  assert.equal(eventData(at.w, "bus_status").length, 1);
});

Deno.test("machines that cannot open their bus at the same time do not try again at the same time", async () => {
  const secondAttempt = async (drawn: string) => {
    let attempts = 0;
    await using at = fixture({
      drawn,
      openBus: () => {
        attempts++;
        return Promise.reject(new Error("no"));
      },
    });
    at.begin();
    await at.clock.advance(600);
    return attempts;
  };
  assert.deepEqual([await secondAttempt("0000"), await secondAttempt("ffff")], [2, 1]);
});

Deno.test("a reason of several lines becomes one line of bounded length", async () => {
  await using at = fixture();
  const bus = await at.start();
  bus.become("down", `first\nsecond ${"x".repeat(1000)}`);
  const { reason } = at.connection.status();
  assert.match(reason ?? "", /^first second x+$/);
  assert.ok((reason ?? "").length <= 300);
});

Deno.test("before the bus is open, a use of it fails as unreachable and says that nothing was stored", async () => {
  await using at = fixture({ openBus: () => Promise.reject(new Error("no file")) });
  at.begin();
  await at.clock.settle();
  const use = () => at.connection.publish("dm-000000000002", "1", new Uint8Array());
  await assert.rejects(use, (error) => {
    assert.ok(error instanceof BusError);
    assert.deepEqual([error.reason, error.stored, error.message], ["unreachable", "no", "no file"]);
    return true;
  });
});

Deno.test("batches are published to the bus, and reports of the bus reach the owner", async () => {
  await using at = fixture();
  const bus = await at.start();
  await at.connection.publish("dm-000000000002", "1", new Uint8Array());
  assert.deepEqual(bus.published, ["dm-000000000002 1"]);
  await bus.listener.batch("dm-000000000002", new Uint8Array());
  bus.listener.announced("dm-000000000002", null);
  assert.deepEqual(at.told.slice(2), ["batch from dm-000000000002", "announced dm-000000000002"]);
});

Deno.test("the report has the server's answer, requested at most once in five seconds", async () => {
  await using at = fixture();
  const bus = await at.start();
  assert.equal((await at.connection.report()).latency_ms, null);
  bus.become("connected");
  const report = await at.connection.report();
  await at.connection.report();
  assert.deepEqual(report, {
    status: "connected",
    url: URL_OF_BUS,
    since: at.clock.now(),
    reason: null,
    latency_ms: 3,
    last_heard_at: null,
    daemon_id: "dm-000000000001",
    name: "laptop",
    fingerprint: "0000 0000",
    shared_circles: ["work"],
    waiting_at_bus: 2,
    bytes_at_bus: 10,
    bytes_at_bus_max: 100,
  });
  assert.equal(bus.measured, 1);
  await at.clock.advance(5000);
  await at.connection.report();
  assert.equal(bus.measured, 2);
});

Deno.test("a silent server delays reports by at most two seconds", async () => {
  await using at = fixture();
  const bus = await at.start();
  bus.become("connected");
  bus.roundTripMs = () => Promise.withResolvers<number>().promise;
  const report = at.connection.report();
  await at.clock.advance(2000);
  assert.deepEqual([(await report).status, (await report).latency_ms], ["connected", null]);
});

Deno.test("a bus that fails while it is measured is reported without figures", async () => {
  await using at = fixture();
  const bus = await at.start();
  bus.become("connected");
  bus.roundTripMs = () => Promise.reject(new BusError("unreachable", "lost"));
  assert.equal((await at.connection.report()).latency_ms, null);
});

Deno.test("after close the bus is closed, nothing is reported and nothing is opened again", async () => {
  let attempts = 0;
  await using failing = fixture({ openBus: () => Promise.reject(new Error(`no ${++attempts}`)) });
  failing.begin();
  await failing.clock.settle();
  await failing.connection.close();
  await failing.clock.advance(600_000);
  assert.equal(attempts, 1);

  await using at = fixture();
  const bus = await at.start();
  await at.connection.close();
  bus.become("connected");
  assert.equal(bus.closed, 1);
  assert.deepEqual(at.told, ["connecting", "connecting"]);
});

Deno.test("a bus that opens after close is closed at once", async () => {
  const opening = Promise.withResolvers<Bus>();
  let listenerOfBus: BusListener | undefined;
  await using at = fixture({
    openBus: (listener) => {
      listenerOfBus = listener;
      return opening.promise;
    },
  });
  at.begin();
  const closing = at.connection.close();
  assert.ok(listenerOfBus);
  const bus = new ScriptedBus(listenerOfBus);
  opening.resolve(bus);
  await closing;
  assert.equal(bus.closed, 1);
});
