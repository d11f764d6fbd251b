/**
 * A real daemon and a real relay whose clock is set while they run: due work runs, leases and waits
 * go on, and expired records are refused.
 */

import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { App, parseTokens, type Tokens } from "../../support/relay/oauth_world.ts";
import { until } from "../../support/waiting.ts";
import { Client } from "../client.ts";
import { MovedClock } from "./moved_clock.ts";
import { RealRelay } from "./real_relay.ts";

const SECRET = `mesh_sk_${"a".repeat(43)}`;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Tolerance of times, for the time that the test itself takes. */
const TOLERANCE_MS = 10_000;
/** Tolerance of uptimes: they are whole seconds, and read one after the other. */
const UPTIME_TOLERANCE_S = 3;
/** Time limit for changes that must happen at the next tick. */
const TICKS_MS = 10_000;

/** A step of the time of day. If `suspended`, both programs are stopped meanwhile. */
export interface ClockStep {
  readonly ms: number;
  readonly suspended?: boolean;
}

export const STEPS: readonly ClockStep[] = [
  { ms: -2 * HOUR_MS },
  { ms: 2 * HOUR_MS },
  { ms: -MINUTE_MS },
  { ms: 8 * HOUR_MS, suspended: true },
];

/** Sets the clock step by step. Returns the failed checks. */
export async function setClock(steps: readonly ClockStep[]): Promise<string[]> {
  using folder = temporary();
  const clock = new MovedClock(folder.path);
  await using relay = await RealRelay.start(`${folder.path}/relay.db`, clock.env);
  Deno.mkdirSync(`${folder.path}/state`, { mode: 0o700 });
  const settings = {
    ...clock.env,
    MESH_RELAY__ENABLED: "true",
    MESH_RELAY__URL: relay.issuer,
    MESH_RELAY__SECRET: SECRET,
  };
  await using daemon = await RealDaemon.start(`${folder.path}/state`, { settings });
  const failures: string[] = [];
  const mesh = new Mesh(clock, relay, daemon);
  await mesh.connect();
  const first = { at: performance.now(), uptimes: await mesh.uptimes() };
  for (const step of steps) {
    const name = `${step.suspended ? "a night of" : "a step by"} ${step.ms / MINUTE_MS} min`;
    const check = (isSound: boolean, what: string) => {
      if (!isSound) failures.push(`${name}: ${what}`);
    };
    const before = await mesh.prepare();
    if (step.suspended) {
      for (const pid of [daemon.pid, relay.pid]) Deno.kill(pid, "SIGSTOP");
      await pause(500);
    }
    clock.step(step.ms);
    if (step.suspended) { for (const pid of [daemon.pid, relay.pid]) Deno.kill(pid, "SIGCONT"); }
    await mesh.checkAfter(step.ms, before, check);
    const passed = (performance.now() - first.at) / 1000;
    const uptimes = await mesh.uptimes();
    for (const program of ["daemon", "relay"] as const) {
      const grown = uptimes[program] - first.uptimes[program];
      const isTrue = Math.abs(grown - passed) <= UPTIME_TOLERANCE_S;
      check(isTrue, `the uptime of the ${program} grew by ${grown} s in ${passed} s`);
    }
  }
  await mesh.client.disconnect();
  return failures;
}

/** Records that were created before a step. */
interface StepRecords {
  readonly leased: string;
  /** A schedule that is due in an hour. */
  readonly later: string;
  /** A share for an hour. */
  readonly share: string;
  readonly tokens: Tokens;
}

class Mesh {
  readonly client = new Client("careful", { receipts: true });
  readonly #clock: MovedClock;
  readonly #relay: RealRelay;
  readonly #daemon: RealDaemon;
  #app!: App;
  #mailbox = "";

  constructor(clock: MovedClock, relay: RealRelay, daemon: RealDaemon) {
    this.#clock = clock;
    this.#relay = relay;
    this.#daemon = daemon;
  }

  async connect(): Promise<void> {
    await this.client.connect(this.#daemon.port);
    const peer = await this.#post("/peers", { display_name: "mailbox", backend: "sdk", path: "/" });
    this.#mailbox = String(peer["peer_id"]);
    await until("the tunnel", async () => (await this.#health()).relay.status === "connected");
    this.#app = await App.register(this.#relay);
  }

  async prepare(): Promise<StepRecords> {
    await this.#post("/notify", { from_peer: "ada", to_peer: this.#mailbox, text: "leased" });
    const { deliveries } = await this.#get(`/deliveries/pending?peer_id=${this.#mailbox}`);
    const { schedule_id } = await this.#schedule("later", "1h");
    const share = await this.#post("/shares", { peer: "careful", ttl_seconds: 3600 });
    return {
      leased: deliveries[0]?.delivery_id ?? "none",
      later: String(schedule_id),
      share: String(share["url"]),
      tokens: await this.#app.connect(),
    };
  }

  async checkAfter(
    ms: number,
    { later, leased, share, tokens }: StepRecords,
    check: (isSound: boolean, what: string) => void,
  ): Promise<void> {
    const text = crypto.randomUUID();
    const made = await this.#schedule(text, "1s");
    const off_ms = Date.parse(String(made["created_at"])) - this.#clock.now();
    check(Math.abs(off_ms) < TOLERANCE_MS, `the daemon's clock is off by ${off_ms} ms`);
    const fired = await holds(() => this.client.appliedContents.includes(text));
    check(fired, "a schedule that is due did not fire");
    const isDue = ms >= HOUR_MS;
    const { state } = await this.#get(`/schedules/${later}`);
    check(state === (isDue ? "fired" : "active"), `a schedule for an hour later is ${state}`);
    const { deliveries } = await this.#get(`/deliveries/pending?peer_id=${this.#mailbox}`);
    const isPending = deliveries.some(({ delivery_id }: { delivery_id: string }) =>
      delivery_id === leased
    );
    check(!isPending, "a lease ended early");
    await this.#post("/deliveries/receipts", { delivery_ids: [leased], status: "accepted" });
    check(this.client.isOpen, "a socket was closed");
    check((await this.#health()).relay.status === "connected", "the tunnel was lost");
    const { events } = await this.#get("/events?type=peer_offline");
    check(events.length === 0, "a peer was taken offline");
    const guest = (await fetch(share)).status;
    check(guest === (isDue ? 404 : 200), `a share for an hour answers ${guest}`);
    const before = await this.#relay.useToken(tokens.access_token);
    check(before === (isDue ? 401 : 200), `an access token for 15 minutes gives ${before}`);
    const refreshed = await this.#app.refresh(tokens.refresh_token);
    check(refreshed.ok, `a refresh gives ${refreshed.status}`);
    const { access_token } = refreshed.ok ? await parseTokens(refreshed) : tokens;
    check(await this.#relay.useToken(access_token) === 200, "a fresh token is refused");
  }

  async uptimes(): Promise<{ daemon: number; relay: number }> {
    const relay = await (await fetch(`${this.#relay.issuer}/health`)).json();
    return { daemon: (await this.#health()).uptime_seconds, relay: relay.uptime_seconds };
  }

  async #health() {
    return await this.#get("/health");
  }

  #schedule(text: string, fire_at: string) {
    const to_peer = this.client.peer_id;
    return this.#post("/schedules", { from_peer: "ada", to_peer, text, fire_at });
  }

  async #get(path: string) {
    return await (await fetch(this.#daemon.base + path)).json();
  }

  async #post(path: string, body: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(this.#daemon.base + path, {
      method: "POST",
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }
}

/** True if the condition holds within a few ticks. */
async function holds(isTrue: () => boolean): Promise<boolean> {
  const end = performance.now() + TICKS_MS;
  while (!isTrue() && performance.now() < end) await pause(20);
  return isTrue();
}
