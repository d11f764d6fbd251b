/** The outbound tunnel: dials the relay, keeps the line alive, and dials again when it is lost. */

import type { Ground } from "kit/data/context.ts";
import type { Secret } from "kit/core/settings.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import { CLOSE, Greeting, GREETING_MS_MAX, type Hello, PROTOCOL } from "kit/net/tunnel/frames.ts";
import type { Data, Ears, Line } from "kit/net/tunnel/connection.ts";
import { Trunk } from "kit/net/tunnel/multiplexed.ts";
import type { Health } from "../events/contract.ts";
import type { Asked } from "./answers.ts";
import { uplinkMachine, type UplinkState } from "./machine.ts";

/** What this daemon can do, told by `GET /health` and to the relay. */
export const CAPABILITIES = { ask_pull_delivery: true };

const REST_MS_LEAST = 1000;
const REST_MS_MAX = 60_000;
/** A line that stood for so long was a good one: the next rest is a short one again. */
const STEADY_MS = 30_000;
/** So often in so long, and two daemons push each other off by turns. */
const REPLACED_MAX = 2;
const REPLACED_WINDOW_MS = 60_000;
/** Of a reason, which may be the relay's: it is shown at terminals, and steers none. */
const REASON_LENGTH_MAX = 300;

export interface UplinkOptions {
  /** The relay's own address, such as `https://relay.example`. */
  readonly url: string;
  readonly secret: Secret;
  readonly daemon_id: string;
  readonly hello: Omit<Hello, "type" | "protocol">;
}

/** How a socket to elsewhere is had. */
export type Dial = (
  address: string,
  headers: Readonly<Record<string, string>>,
  ears: Ears,
) => Line;

export interface UplinkNeeds {
  readonly dial: Dial;
  /** Answers what comes through. */
  asked(trunk: Trunk, asked: Asked): void;
}

export class Uplink {
  readonly #ground: Ground;
  readonly #options: UplinkOptions;
  readonly #needs: UplinkNeeds;
  #state: UplinkState = "down";
  #line: Line | undefined;
  #trunk: Trunk | undefined;
  /** When to dial next; undefined when nobody does any more. */
  #dial_at: number | undefined;
  #dialled_at = 0;
  #failures = 0;
  #replaced_at: number[] = [];
  #connected_at: number | null = null;
  #last_error: string | null = null;
  /** What the events have told: a relay that stays away is told of once. */
  #told: UplinkState | undefined;

  constructor(ground: Ground, options: UplinkOptions, needs: UplinkNeeds) {
    this.#ground = ground;
    this.#options = options;
    this.#needs = needs;
  }

  /** For `GET /health`. */
  report(): Health["relay"] {
    return {
      status: this.#state,
      url: this.#options.url,
      last_connected_at: this.#connected_at,
      last_error: this.#last_error,
    };
  }

  wakeUp(): void {
    this.#dial_at = this.#ground.clock.now();
  }

  /** Once a second: dials when it is time, and sees whether the line still lives. */
  beat(now: number): void {
    if (this.#state === "down" && this.#dial_at !== undefined && this.#dial_at <= now) {
      return this.#dial(now);
    }
    if (this.#state === "connecting" && now - this.#dialled_at >= GREETING_MS_MAX) {
      return this.#fail(`no answer within ${GREETING_MS_MAX / 1000} s`);
    }
    this.#trunk?.beat(now);
  }

  close(): void {
    this.#dial_at = undefined;
    const [line, trunk] = [this.#line, this.#trunk];
    this.#line = this.#trunk = undefined; // Nothing that it says now is news.
    if (trunk) trunk.end("going_away");
    else line?.close(CLOSE.going_away, "going_away");
  }

  #dial(now: number): void {
    const { url, secret, daemon_id } = this.#options;
    this.#state = uplinkMachine.step(this.#state, "dialled");
    this.#dialled_at = now;
    const headers = {
      "authorization": `Bearer ${secret.reveal()}`,
      "x-mesh-daemon-id": daemon_id,
    };
    const ears = {
      opened: () => this.#line === line && this.#hello(line),
      heard: (data: Data) => this.#line === line && this.#heard(line, data),
      closed: (code: number, reason: string, fault?: string) =>
        this.#line === line && this.#closed(code, reason, fault),
    };
    const line = this.#needs.dial(`${url.replace(/^http/, "ws")}/ws/daemon`, headers, ears);
    this.#line = line;
  }

  #hello(line: Line): void {
    const hello: Hello = { type: "hello", protocol: PROTOCOL, ...this.#options.hello };
    line.send(JSON.stringify(hello));
  }

  #heard(line: Line, data: Data): void {
    if (this.#trunk) return this.#trunk.heard(data);
    const greeting = Greeting.safeParse(typeof data === "string" ? tryJson(data) : undefined);
    if (!greeting.success) return this.#fail("it greets in a way that this daemon does not know");
    if (greeting.data.type === "refused") return this.#fail(greeting.data.detail);
    const { clock, log } = this.#ground;
    this.#state = uplinkMachine.step(this.#state, "welcomed");
    const trunk: Trunk = new Trunk(line, {
      clock,
      asked: (head, stream, body) => this.#needs.asked(trunk, { head, stream, body }),
    });
    this.#trunk = trunk;
    this.#connected_at = clock.now();
    this.#last_error = null;
    log.info("The relay is connected", { url: this.#options.url });
    this.#tell(null);
  }

  #closed(code: number, reason: string, fault: string | undefined): void {
    this.#trunk?.gone("the tunnel broke");
    if (code === CLOSE.superseded) return this.#replaced();
    this.#fail(fault === undefined ? reason || "the line was lost" : explain(fault));
  }

  /** Another connection has our id: once is our own newer one, twice a minute is another daemon. */
  #replaced(): void {
    const now = this.#ground.clock.now();
    this.#replaced_at = this.#replaced_at.filter((at) => now - at < REPLACED_WINDOW_MS);
    this.#replaced_at.push(now);
    const { daemon_id } = this.#options;
    if (this.#replaced_at.length < REPLACED_MAX) {
      return this.#fail(`another connection of ${daemon_id} took its place`);
    }
    this.#fail(
      `another daemon has the id ${daemon_id} and this secret: it took our place ` +
        `${REPLACED_MAX} times within a minute, so that this one dials no more. ` +
        "Stop the other (a copied state directory?), then start this daemon again",
    );
    this.#dial_at = undefined;
  }

  #fail(why: string): void {
    const { clock, log } = this.#ground;
    const now = clock.now();
    const steady = this.#state === "connected" && now - (this.#connected_at ?? now) >= STEADY_MS;
    this.#failures = steady ? 0 : this.#failures + 1;
    const line = this.#line;
    this.#line = this.#trunk = undefined;
    line?.close(CLOSE.going_away, "going_away");
    this.#state = uplinkMachine.step(this.#state, "failed");
    this.#dial_at = now + this.#rest();
    this.#last_error = cleanLine(why.slice(0, REASON_LENGTH_MAX));
    if (this.#told !== "down") {
      log.warn("The relay is away", { url: this.#options.url, why: this.#last_error });
    }
    this.#tell(this.#last_error);
  }

  /** Longer each time, and never the same for two daemons that lost their relay at once. */
  #rest(): number {
    const most = Math.min(REST_MS_MAX, REST_MS_LEAST * 2 ** Math.min(this.#failures, 16));
    const chance = Number.parseInt(this.#ground.ids.hex(2), 16) / 0x1_0000;
    return Math.floor(most * (0.5 + chance / 2));
  }

  #tell(reason: string | null): void {
    const { db, events } = this.#ground;
    const status = this.#state;
    if (this.#told === status) return;
    this.#told = status;
    db.transact(() => events.append("relay_status", { status, url: this.#options.url, reason }));
  }
}

/** What the runtime says of a dial that failed, in words of ours. */
function explain(fault: string): string {
  const status = /(?:status code|server response): (\d+)/.exec(fault)?.[1];
  if (status === "401") return "the relay does not take relay.secret (401)";
  if (status !== undefined) return `the relay answered ${status} where the tunnel should be`;
  return fault.replace(/^NetworkError: /, "");
}
