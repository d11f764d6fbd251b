/** How often one address may come, for each purpose: a count of its own for each of them. */

import type { Clock } from "kit/core/clock.ts";
import { bucketOf, type Proxy } from "../web/net/client_address.ts";
import { RateLimiter, type Rates } from "../web/net/rate_limiter.ts";

/** Five from each address, then one a minute, below a ceiling for all (specification 8). */
const REGISTRATIONS: Rates = {
  each: { burst: 5, per_minute: 1 },
  all: { burst: 120, per_minute: 60 },
};

/**
 * What all addresses together may do where each try costs little: high enough that a stranger with
 * many IPv6 networks uses up the processor before it, and locks out nobody by the ceiling alone.
 */
const CEILING = { burst: 60_000, per_minute: 60_000 } as const;

/** A secret costs nothing to draw, and a person mistypes one: enough for a person, no flood. */
const PERSON_RATES: Rates = {
  each: { burst: 30, per_minute: 30 },
  all: CEILING,
};

/** Daemons behind one address come back at once; each that comes and goes is told in the log. */
const DIALS: Rates = {
  each: { burst: 2000, per_minute: 600 },
  all: { burst: 20_000, per_minute: 6000 },
};

/** Each app that is connected is one consent, and a row for 30 days: for each session … */
const CONSENTS: Rates = {
  each: { burst: 60, per_minute: 60 },
  all: { burst: 6000, per_minute: 6000 },
};

/** … and for each address, from which anybody may open sessions. */
const CONSENT_ADDRESSES: Rates = {
  each: { burst: 300, per_minute: 300 },
  all: { burst: 6000, per_minute: 6000 },
};

/** Tokens of one grant: each refresh leaves a row for as long as it stands. */
const EXCHANGES: Rates = {
  each: { burst: 600, per_minute: 60 },
  all: CEILING,
};

/**
 * What the guests of one share may ask: each question interrupts an agent. A tenant has a hundred
 * shares, whose guests are far below the ceiling.
 */
const GUEST_ASKS: Rates = {
  each: { burst: 10, per_minute: 6 },
  all: CEILING,
};

/** Looking at shares: each look asks a machine once or twice, and whoever has the link may look. */
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
    /** What counts as one address. */
    rateLimitKeyOf: ({ headers }: Request, remote: Remote) =>
      bucketOf(remote?.hostname, headers, proxy),
    /** Of dials: those that show no secret hold up none that shows one. */
    dials: { withSecret: byAddress(DIALS), withoutSecret: byAddress(PERSON_RATES) },
    consents: {
      /** Of the browser that is signed in, as its form token tells it; of an address otherwise. */
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
