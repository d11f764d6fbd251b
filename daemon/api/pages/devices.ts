/** Paired devices: one-time codes, the sessions that they give, and the end of a session. */

import { TimeLimit } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { sha256 } from "kit/host/node_library.ts";
import { Problem } from "protocol/problems.ts";
import {
  CODE_DIGITS,
  CODE_LENGTH,
  DEVICE_COOKIE,
  formatCode,
  normalizeCode,
  type PairDevice,
  type PairedDevice,
} from "protocol/api/devices.ts";
import { deviceName } from "protocol/push/device_name.ts";
import type { Context } from "../../data/context.ts";
import * as rows from "./device_store.ts";
import type { StoredDevice } from "./device_store.ts";

export const CODE_MS = 300_000;
export const DEVICE_MS = 90 * DAY_MS;
/** Codes that wait at the same time; a new one ends the oldest. */
const CODES_MAX = 20;
const DEVICES_MAX = 50;
/** Wrong codes in a minute; beyond it no code counts until the minute is over. */
export const WRONG_CODES_MAX = 30;
const WRONG_CODES_MS = 60_000;
const TOKEN_BYTES = 32;
/** The time of the last use is stored once in this time. */
const USED_MS = 60_000;
const CODE_BYTES = 20;

export interface PairedSession {
  readonly device_id: string;
  readonly name: string;
  /** Only the device gets it. */
  readonly token: string;
  readonly expires_at: number;
}

export class PairedDevices {
  readonly #ctx: Context;
  /** Keyed by the digest of the code. Lost on restart. */
  readonly #codes = new Map<string, TimeLimit>();
  /** Ends the open streams of each device. */
  readonly #endings = new Map<string, AbortController>();
  #wrong = 0;
  #wrong_limit: TimeLimit | undefined;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** Creates a code, valid once for five minutes. */
  createCode(): { code: string; digest: string; expires_at: number } {
    const { clock, ids } = this.#ctx;
    for (const [digest, { isOver }] of this.#codes) {
      if (isOver || this.#codes.size >= CODES_MAX) this.#codes.delete(digest);
    }
    // There are 32 digits, so that each has 8 of the 256 bytes.
    const bytes = Uint8Array.fromBase64(ids.secret(CODE_BYTES), { alphabet: "base64url" });
    const digits = [...bytes].map((byte) => CODE_DIGITS[byte % CODE_DIGITS.length]);
    const code = digits.slice(0, CODE_LENGTH).join("");
    const limit = new TimeLimit(clock, CODE_MS);
    this.#codes.set(digestOf(code), limit);
    return { code: formatCode(code), digest: digestOf(code), expires_at: limit.ends_at };
  }

  /** True while a code waits for a device. */
  get hasCode(): boolean {
    return this.#codes.values().some(({ isOver }) => !isOver);
  }

  /** Redeems a code: a new session of a device, which speaks as the human. */
  redeem({ code, name, user_agent }: PairDevice, via: PairedDevice["via"]): PairedSession {
    const { clock, db, events, ids } = this.#ctx;
    this.#refuseIfGuessing();
    const digest = digestOf(normalizeCode(code));
    const limit = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (!limit || limit.isOver) {
      this.#wrong++;
      throw new Problem("code_refused", {});
    }
    const token = ids.secret(TOKEN_BYTES);
    const now = clock.now();
    const device: StoredDevice = {
      device_id: ids.next("dev"),
      digest: digestOf(token),
      name: name ?? deviceName(user_agent ?? null),
      user_agent: user_agent ?? null,
      via,
      created_at: now,
      used_at: now,
      expires_at: now + DEVICE_MS,
    };
    db.transact((tx) => {
      const known = rows.all(tx, now);
      for (const old of known.slice(DEVICES_MAX - 1)) this.#end(old, "removed");
      rows.insert(tx, device);
      const { device_id, name } = device;
      events.append("device_changed", { device_id, name, state: "paired" });
    });
    const { device_id, expires_at } = device;
    return { device_id, name: device.name, token, expires_at };
  }

  /** The device of a token; undefined for an unknown one, and after its session has ended. */
  find(token: string): { readonly device_id: string } | undefined {
    const { clock, db } = this.#ctx;
    const now = clock.now();
    const device = rows.byDigest(db, digestOf(token), now);
    if (device && Math.abs(now - device.used_at) >= USED_MS) {
      db.transact((tx) => rows.markUsed(tx, device.device_id, now));
    }
    return device && { device_id: device.device_id };
  }

  /** The device of a request's cookie. */
  of(request: Request): { readonly device_id: string } | undefined {
    const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
    const found = pairs.find((pair) => pair.startsWith(`${DEVICE_COOKIE}=`));
    const token = found?.slice(DEVICE_COOKIE.length + 1);
    return token ? this.find(token) : undefined;
  }

  list(own: string | undefined): PairedDevice[] {
    const { clock, db } = this.#ctx;
    return rows.all(db, clock.now()).map(({ digest: _, ...device }) => ({
      ...device,
      is_this: device.device_id === own,
    }));
  }

  /** Ends a device's session: its cookie counts no more, and its streams end. */
  remove(device_id: string): void {
    this.#ctx.db.transact((tx) => {
      const device = rows.get(tx, device_id);
      if (!device) throw new Problem("unknown_device", { device_id });
      this.#end(device, "removed");
    });
  }

  /** Aborts when the device's session ends. */
  endOf(device_id: string): AbortSignal {
    return this.#endings.getOrInsertComputed(device_id, () => new AbortController()).signal;
  }

  /** Called once a second: ends the sessions whose time is over. */
  tick(now: number): void {
    const { db } = this.#ctx;
    if (rows.expired(db, now).length === 0) return;
    db.transact((tx) => rows.expired(tx, now).forEach((device) => this.#end(device, "expired")));
  }

  #end({ device_id, name }: StoredDevice, state: "removed" | "expired"): void {
    const { db, events } = this.#ctx;
    db.transact((tx) => {
      rows.remove(tx, device_id);
      events.append("device_changed", { device_id, name, state });
      db.afterCommit(() => {
        this.#endings.get(device_id)?.abort();
        this.#endings.delete(device_id);
      });
    });
  }

  #refuseIfGuessing(): void {
    if (!this.#wrong_limit || this.#wrong_limit.isOver) {
      this.#wrong_limit = new TimeLimit(this.#ctx.clock, WRONG_CODES_MS);
      this.#wrong = 0;
    }
    if (this.#wrong < WRONG_CODES_MAX) return;
    const retry_after_seconds = Math.ceil(
      Math.max(0, this.#wrong_limit.ends_at - this.#ctx.clock.now()) / 1000,
    );
    throw new Problem("too_many_codes_tried", { retry_after_seconds });
  }
}

/** The `Set-Cookie` of a device; `max_age_seconds` 0 removes it. */
export function deviceCookie(token: string, max_age_seconds: number, secure: boolean): string {
  const attributes = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${max_age_seconds}`;
  return `${DEVICE_COOKIE}=${token}; ${attributes}${secure ? "; Secure" : ""}`;
}

function digestOf(secret: string): string {
  return sha256(secret, "hex");
}
