/** One request to a push service (RFC 8030), and the meaning of its answer. */

import type { Clock, Ids } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { encryptPush, type KeyPair, vapidAuthorization } from "kit/host/web_push.ts";
import type { PublicFetch } from "kit/net/outgoing/public_fetch.ts";
import type { StoredSubscription } from "./store.ts";

const ANSWER_MS_MAX = 15_000;
/** An answer is a status and headers; a text that explains a refusal is not used. */
const ANSWER_BYTES_MAX = 16_384;
/** Lifetime of the token by which the push service knows us; at most a day (RFC 8292). */
const TOKEN_SECONDS = 12 * 3600;
/** Longest pause that a push service can cause. */
export const PAUSE_MS_MAX = 3_600_000;
const SALT_BYTES = 16;

export interface PushServiceDeps {
  readonly clock: Clock;
  readonly ids: Pick<Ids, "secret">;
  readonly sendPublicly: PublicFetch;
  /** Our keys of VAPID. */
  readonly keys: () => KeyPair;
  /** Address by which the operator of a push service reaches us. */
  readonly contact: string;
  /** True if pushes may be sent to this machine, also without TLS. */
  readonly allow_local: boolean;
}

export interface OutgoingPush {
  readonly text: string;
  /** A newer push of the same topic replaces one that the service still holds. */
  readonly topic: string;
  readonly urgency: "normal" | "high";
  /** Time for which the service keeps the push for a device that it cannot reach. */
  readonly ttl_seconds: number;
}

/** - `gone`: the service no longer knows the device; - `delayed`: the push may be sent again. */
export interface PushOutcome {
  readonly kind: "taken" | "gone" | "refused" | "delayed";
  readonly reason: string;
  /** The pause that the service asks for. */
  readonly pause_ms?: number | undefined;
}

export class PushService {
  readonly #deps: PushServiceDeps;

  constructor(deps: PushServiceDeps) {
    this.#deps = deps;
  }

  async send(
    { endpoint, p256dh, auth }: StoredSubscription,
    push: OutgoingPush,
    shutdownSignal: AbortSignal,
  ): Promise<PushOutcome> {
    const { allow_local, clock, ids, sendPublicly } = this.#deps;
    const body = encryptPush(push.text, { p256dh, auth }, { salt: ids.secret(SALT_BYTES) });
    const request = (signal: AbortSignal) =>
      sendPublicly(
        new Request(endpoint, {
          method: "POST",
          headers: this.#headers(endpoint, push),
          body,
          redirect: "manual",
          signal,
        }),
        { allow_local, bytes_max: ANSWER_BYTES_MAX },
      );
    try {
      const answer = await timeout(clock, ANSWER_MS_MAX, request, shutdownSignal);
      if (answer) return toOutcome(answer, clock.now());
      const reason = `no answer within ${ANSWER_MS_MAX / 1000} s`;
      return { kind: "delayed", reason };
    } catch (error) {
      return { kind: "delayed", reason: messageOf(error) };
    }
  }

  #headers(endpoint: string, { topic, urgency, ttl_seconds }: OutgoingPush) {
    const { clock, contact, keys } = this.#deps;
    const expires = Math.floor(clock.now() / 1000) + TOKEN_SECONDS;
    const claims = { audience: new URL(endpoint).origin, contact, expires };
    return {
      authorization: vapidAuthorization(keys(), claims),
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
      ttl: String(ttl_seconds),
      topic,
      urgency,
    };
  }
}

function toOutcome({ status, headers }: Response, now: number): PushOutcome {
  const reason = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { kind: "taken", reason };
  if (status === 404 || status === 410) return { kind: "gone", reason };
  const mayTryAgain = status === 429 || status === 408 || status >= 500;
  if (!mayTryAgain) return { kind: "refused", reason };
  return { kind: "delayed", reason, pause_ms: pauseOf(headers.get("retry-after"), now) };
}

/** The pause that `Retry-After` asks for, which is a number of seconds or a date (RFC 9110). */
function pauseOf(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), PAUSE_MS_MAX);
}
