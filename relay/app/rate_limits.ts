/** The relay's rate limits. Requests of each kind are counted separately. */

import type { Clock } from "kit/core/clock.ts";
import { bucketOf, type Proxy } from "../web/client_address.ts";
import { type Rate, RateLimiter, type Rates } from "../web/rate_limiter.ts";

const rate = (burst: number, per_minute: number): Rate => ({ burst, per_minute });

/** Limits client registrations (specification 8). */
const REGISTRATIONS: Rates = { each: rate(5, 1), all: rate(120, 60) };

/**
 * The limit of all addresses together, for requests that cost little. It is so high that a stranger
 * with many IPv6 networks exhausts the processor before reaching it. Therefore a stranger cannot
 * use this limit to lock others out.
 */
const CEILING = rate(60_000, 60_000);

/** Limits creating secrets and shares, and signing in. Leaves room for typing errors. */
const PERSON_RATES: Rates = { each: rate(30, 30), all: CEILING };

/** Limits connecting daemons. Many behind one address may reconnect at once; each is logged. */
const DIALS: Rates = { each: rate(2000, 600), all: rate(20_000, 6000) };

/** Limits the consents of one session, because each consent stores a row for 30 days. */
const CONSENTS: Rates = { each: rate(60, 60), all: rate(6000, 6000) };

/** Limits the consents of one address, because one address can open many sessions. */
const CONSENT_ADDRESSES: Rates = { each: rate(300, 300), all: rate(6000, 6000) };

/** Limits token exchanges of one grant. Each refresh stores a row until the grant ends. */
const EXCHANGES: Rates = { each: rate(600, 60), all: CEILING };

/**
 * Limits the asks of one share's guests, because each ask interrupts an agent. A tenant has at most
 * 100 shares, so the guests of one tenant stay far below the limit of all tenants together.
 */
const GUEST_ASKS: Rates = { each: rate(10, 6), all: CEILING };

/** Limits visits of shares. They need only the link, and each sends requests to a machine. */
const SHARE_VISITS: Rates = { each: rate(60, 60), all: CEILING };

type Remote = Deno.NetAddr | undefined;

export function openRateLimits({ clock, proxy }: { clock: Clock; proxy: Proxy }) {
  /** The key under which a client is counted. A whole IPv6 network counts as one address. */
  const rateLimitKeyOf = ({ headers }: Request, remote: Remote) =>
    bucketOf(remote?.hostname, headers, proxy);
  const byAddress = (rates: Rates) => {
    const limiter = new RateLimiter(clock, rates);
    return {
      take: (request: Request, remote: Remote) => limiter.acquire(rateLimitKeyOf(request, remote)),
    };
  };
  const consents = new RateLimiter(clock, CONSENTS);
  const consentAddresses = new RateLimiter(clock, CONSENT_ADDRESSES);
  return {
    registrations: byAddress(REGISTRATIONS),
    register: byAddress(PERSON_RATES),
    login: byAddress(PERSON_RATES),
    rateLimitKeyOf,
    /** Daemons without a secret do not use up the limit of daemons that have one. */
    dials: { withSecret: byAddress(DIALS), withoutSecret: byAddress(PERSON_RATES) },
    consents: {
      /** Counts consents by address, and by session if a browser is signed in. */
      take: (request: Request, remote: Remote, form_token: string | undefined) => {
        const address = rateLimitKeyOf(request, remote);
        return consentAddresses.acquire(address) ?? consents.acquire(form_token ?? address);
      },
    },
    exchanges: new RateLimiter(clock, EXCHANGES),
    shareVisits: byAddress(SHARE_VISITS),
    shareCreations: byAddress(PERSON_RATES),
    guestAsks: new RateLimiter(clock, GUEST_ASKS),
  };
}
