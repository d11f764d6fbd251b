/** Two daemons with one id: only one takes part in the bus. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { BusError, IdentityInUse, type NewConnection } from "../../../daemon/machines/bus.ts";
import { HOLD_MS, RESTART_MS, RunClaim, TAKEOVER_MS } from "../../../daemon/machines/run_claim.ts";
import { type MachineKeys, makeMachineKeys } from "../../../daemon/machines/trust/keys.ts";
import { FakeClock } from "../../support/clock.ts";
import { makeNetwork } from "../../support/machines/trusted_machines.ts";

const NETWORK = makeNetwork();
const KEYS = makeMachineKeys(randomIds);

/** A server with connected runs of one id, and the frames that it sends to each. */
class Server {
  readonly clock = new FakeClock();
  readonly #listening = new Set<Run>();

  run(place: string, keys: MachineKeys = KEYS): Run {
    return new Run(this, place, keys);
  }

  connect(run: Run): NewConnection {
    return {
      listen: () => void this.#listening.add(run),
      call: async (request, timeout_ms) => {
        if (this.#listening.size === 0) throw new BusError("no_answer", "Nobody", "no");
        for (const other of [...this.#listening]) {
          const answer = other.deliver(request);
          if (answer) return answer;
        }
        await this.clock.sleep(timeout_ms);
        throw new BusError("no_answer", "Silence");
      },
    };
  }

  disconnect(run: Run): void {
    this.#listening.delete(run);
  }
}

class Run {
  readonly claim: RunClaim;
  readonly #server: Server;
  /** Frames that came while the process was stopped; undefined while it runs. */
  #unread: Uint8Array[] | undefined;

  constructor(server: Server, place: string, keys: MachineKeys) {
    this.#server = server;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    this.claim = new RunClaim({ clock: server.clock, ids: randomIds, log }, {
      daemon_id: "dm-00000000000a",
      keys,
      network: NETWORK,
      place,
      decided: () => undefined,
      roundTrip: () => {
        this.#unread?.splice(0).forEach((frame) => this.claim.receive(frame));
        return Promise.resolve();
      },
    });
  }

  deliver(frame: Uint8Array): Uint8Array | null {
    if (!this.#unread) return this.claim.receive(frame);
    this.#unread.push(frame);
    return null;
  }

  freeze(): void {
    this.#unread = [];
  }

  /** Connects; the result says how it ended. */
  async connect(): Promise<string> {
    const admitted = this.claim.admit(this.#server.connect(this)).then(
      () => "connected",
      (error) => error instanceof IdentityInUse ? error.message : String(error),
    );
    let outcome: string | undefined;
    void admitted.then((result) => outcome = result);
    for (let passed_ms = 0; outcome === undefined && passed_ms < 60_000; passed_ms += 100) {
      await this.#server.clock.advance(100);
    }
    return await admitted;
  }

  disconnect(): void {
    this.#server.disconnect(this);
  }
}

Deno.test("the first run takes part at once, and a copy is refused while it lives [c11.run.bus]", async () => {
  const server = new Server();
  const first = server.run("laptop"), copy = server.run("clone");
  const began_at = server.clock.now();
  assert.equal(await first.connect(), "connected");
  assert.ok(server.clock.now() - began_at < 500);
  assert.match(await copy.connect(), /connected first \(laptop\).*renew-identity/);
  assert.equal(copy.claim.holder?.place, "laptop");
  assert.equal(first.claim.rival?.place, "clone");
  assert.throws(() => copy.claim.mustHold(), IdentityInUse);
  assert.equal(first.claim.mustHold(), undefined);
});

Deno.test("after the first run has ended, it may start again before the copy takes part", async () => {
  const server = new Server();
  const first = server.run("laptop"), copy = server.run("clone");
  await first.connect();
  await copy.connect();
  first.disconnect();
  await server.clock.advance(RESTART_MS - 1000);
  assert.match(await copy.connect(), /connected first/);
  const again = server.run("laptop");
  assert.equal(await again.connect(), "connected");
  assert.match(await copy.connect(), /connected first/);
  again.disconnect();
  await server.clock.advance(RESTART_MS);
  assert.equal(await copy.connect(), "connected");
  assert.equal(copy.claim.holder, undefined);
});

Deno.test("a copy that starts again after the first run has ended takes part at once", async () => {
  const server = new Server();
  const first = server.run("laptop"), copy = server.run("clone");
  await first.connect();
  await copy.connect();
  first.disconnect();
  const began_at = server.clock.now();
  assert.equal(await server.run("clone").connect(), "connected");
  assert.ok(server.clock.now() - began_at < 3000);
});

Deno.test("a run whose process is stopped loses its place only after its last proof has expired", async () => {
  const server = new Server();
  const first = server.run("laptop"), copy = server.run("clone");
  await first.connect();
  first.freeze();
  const began_at = server.clock.now();
  assert.equal(await copy.connect(), "connected");
  const took_ms = server.clock.now() - began_at;
  assert.ok(took_ms >= TAKEOVER_MS && took_ms > HOLD_MS, `${took_ms} ms`);
  const waking = first.claim.mustHold();
  assert.ok(waking);
  await assert.rejects(waking, IdentityInUse);
  assert.throws(() => first.claim.mustHold(), IdentityInUse);
  assert.equal(copy.claim.mustHold(), undefined);
});

Deno.test("a run that was stopped for a moment continues, and refuses the copy that waits", async () => {
  const server = new Server();
  const first = server.run("laptop"), copy = server.run("clone");
  await first.connect();
  first.freeze();
  const connecting = copy.connect();
  await server.clock.advance(5000);
  Object.assign(first, { deliver: (frame: Uint8Array) => first.claim.receive(frame) });
  assert.match(await connecting, /connected first \(laptop\)/);
});

Deno.test("a run that connects again does not wait for its own dead connection", async () => {
  const server = new Server();
  const first = server.run("laptop");
  await first.connect();
  const began_at = server.clock.now();
  assert.equal(await first.connect(), "connected");
  assert.ok(server.clock.now() - began_at < 3000);
});

Deno.test("a clock that was set back proves nothing", async () => {
  const server = new Server();
  const first = server.run("laptop");
  await first.connect();
  const clock = { ...server.clock, now: () => server.clock.now() - 3_600_000 };
  Object.assign(server, { clock });
  assert.equal(first.claim.mustHold(), undefined);
});

Deno.test("only one of the runs that start at the same time takes part", async () => {
  for (let time = 0; time < 20; time++) {
    const server = new Server();
    const runs = ["one", "two", "three"].map((place) => server.run(place));
    const outcomes = await Promise.all(runs.map((run) => run.connect()));
    assert.equal(outcomes.filter((outcome) => outcome === "connected").length, 1, outcomes.join());
  }
});

Deno.test("a machine without this machine's keys can neither refuse it nor replace it", async () => {
  const server = new Server();
  const thief = server.run("thief", makeMachineKeys(randomIds));
  const first = server.run("laptop");
  await thief.connect();
  assert.equal(await first.connect(), "connected");
  await thief.connect();
  assert.equal(first.claim.mustHold() ?? "held", "held");
  assert.equal(first.claim.rival, undefined);
});
