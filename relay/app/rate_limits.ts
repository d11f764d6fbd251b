/** The rate limits of the relay. Each purpose has its own counts. */

import type { Clock } from "kit/core/clock.ts";
import { bucketOf, type Proxy } from "../web/net/client_address.ts";
import { RateLimiter, type Rates } from "../web/net/rate_limiter.ts";

/** Client registrations (specification 8). */
const REGISTRATIONS: Rates = {
  each: { burst: 5, per_minute: 1 },
  all: { burst: 120, per_minute: 60 },
};

/**
 * The limit of all addresses together for cheap requests. It is so high that a stranger with many
 * IPv6 networks exhausts the processor before it, and cannot lock others out by it.
 */
const CEILING = { burst: 60_000, per_minute: 60_000 } as const;

/** Actions of persons: creating secrets and shares, and signing in, with room for typing errors. */
const PERSON_RATES: Rates = {
  each: { burst: 30, per_minute: 30 },
  all: CEILING,
};

/** Connecting daemons. Many behind one address reconnect at the same time, and each is logged. */
const DIALS: Rates = {
  each: { burst: 2000, per_minute: 600 },
  all: { burst: 20_000, per_minute: 6000 },
};

/** Consents of one session. Each one stores a row for 30 days. */
const CONSENTS: Rates = {
  each: { burst: 60, per_minute: 60 },
  all: { burst: 6000, per_minute: 6000 },
};

/** Consents of one address, which can open many sessions. */
const CONSENT_ADDRESSES: Rates = {
  each: { burst: 300, per_minute: 300 },
  all: { burst: 6000, per_minute: 6000 },
};

/** Token exchanges of one grant. Each refresh stores a row for as long as the grant lives. */
const EXCHANGES: Rates = {
  each: { burst: 600, per_minute: 60 },
  all: CEILING,
};

/**
 * Asks of the guests of one share, each of which interrupts an agent. A tenant has 100 shares at
 * most, so its guests stay far below the limit of all.
 */
const GUEST_ASKS: Rates = {
  each: { burst: 10, per_minute: 6 },
  all: CEILING,
};

/** Visits of shares: each sends one or two requests to a machine, and needs only the link. */
const SHARE_VISITS: Rates = {
  each: { burst: 60, per_minute: 60 },
  all: CEILING,
};

type Remote = Deno.NetAddr | undefined;

export function openRateLimits({ clock, proxy }: { clock: Clock; proxy: Proxy }) {
  const byAddress = (rates: Rates) => {
    const limiter = new RateLimiter(clock, rates);
    return {
      take: ({ headers }: Request, remote: Remote) =>
        limiter.acquire(bucketOf(remote?.hostname, headers, proxy)),
    };
  };
  const consents = new RateLimiter(clock, CONSENTS);
  const consentAddresses = new RateLimiter(clock, CONSENT_ADDRESSES);
  return {
    registrations: byAddress(REGISTRATIONS),
    register: byAddress(PERSON_RATES),
    login: byAddress(PERSON_RATES),
    /** The key that counts as one address. */
    rateLimitKeyOf: ({ headers }: Request, remote: Remote) =>
      bucketOf(remote?.hostname, headers, proxy),
    /** Connects without a secret do not use up the limit of those with one. */
    dials: { withSecret: byAddress(DIALS), withoutSecret: byAddress(PERSON_RATES) },
    consents: {
      /** Counts by the session of a signed-in browser, and by address otherwise. */
      take: ({ headers }: Request, remote: Remote, form_token: string | undefined) => {
        const address = bucketOf(remote?.hostname, headers, proxy);
        return consentAddresses.acquire(address) ?? consents.acquire(form_token ?? address);
      },
    },
    exchanges: new RateLimiter(clock, EXCHANGES),
    shareVisits: byAddress(SHARE_VISITS),
    shareCreations: byAddress(PERSON_RATES),
    guestAsks: new RateLimiter(clock, GUEST_ASKS),
  };
}
