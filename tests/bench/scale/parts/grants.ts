/** Grants of a relay: checks of tokens, refreshes, consents, lists and their expiry. */

import { createHash } from "node:crypto";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { jsonLog } from "kit/core/log.ts";
import { openDatabase } from "../../../../relay/app/database.ts";
import type { Client } from "protocol/relay/oauth.ts";
import { Grants } from "../../../../relay/oauth/grants.ts";
import { digestOf } from "../../../../relay/web/secrets.ts";
import { temporary } from "../../../support/programs/child.ts";
import { fillGrants, insertClient, type StoredGrant } from "../fill/grants.ts";
import { Growths, type PartMeasurements, type Scale, sizesUpTo } from "../report/growth.ts";

const ISSUER = "https://relay.example.com";
/** The redirect URI of the client. */
const REDIRECT = "https://app.example/back";
const SAMPLES = 300;
const LIFE_MS = 20 * DAY_MS;

export function grants(scale: Scale): Promise<PartMeasurements> {
  using state = temporary();
  const path = `${state.path}/oauth.db`;
  const log = jsonLog(systemClock, "error", () => undefined);
  let now = systemClock.now();
  const clock = { ...systemClock, now: () => now };
  using db = openDatabase(path, ISSUER, { clock, log });
  const client = insertClient(db);
  const unlimited = { acquire: () => undefined };
  const deps = { db, clock, ids: randomIds, onExchanged: () => undefined, exchanges: unlimited };
  const service = new Grants(deps);
  const growths = new Growths("grants, each with two tokens");
  let count = 0;
  for (const n of sizesUpTo(scale.grants, scale)) {
    const added = fillGrants(db, n - count, { expires_at: now + LIFE_MS });
    count = n;
    // Far from each other, so that no two are on one page.
    const sampled = added.filter((_, at) => at % Math.floor(added.length / SAMPLES) === 0);
    for (const [what, work] of operations(service, client)) {
      growths.add(what, { n, ms: meanMs(sampled, work) });
    }
    growths.add("open the database", { n, ms: openMs(path) });
  }
  const megabytes = Deno.statSync(path).size / 2 ** 20;
  now += LIFE_MS + 1;
  const expiry = meanMs(Array(SAMPLES).fill(0), () => service.deny(randomIds.secret(16), now + 1));
  return Promise.resolve({
    growth: growths.all(),
    singles: [
      { what: `database of ${scale.grants} grants`, value: megabytes, unit: "MB" },
      {
        what: "a write when every grant is overdue, of which it deletes 20",
        value: expiry,
        unit: "ms",
      },
    ],
  });
}

type Operation = [what: string, work: (grant: StoredGrant) => void];

function operations(service: Grants, client: Client): Operation[] {
  return [
    ["check an access token", ({ access }) => {
      if (!service.bearerOf(access)) throw new Error("A token was not found");
    }],
    ["check a token that nobody has", () => void service.bearerOf(randomIds.secret(32))],
    ["list a person's connections", ({ namespace }) => {
      if (service.connections(namespace).length === 0) throw new Error("A grant was not found");
    }],
    ["refresh", ({ refresh }) => void service.refresh(client, refresh, undefined)],
    ["consent and exchange of its code", () => approve(service, client)],
    ["revoke", ({ refresh }) => service.revoke(refresh)],
  ];
}

/** Connects an app: the consent, and the exchange of the code for tokens. */
function approve(service: Grants, client: Client): void {
  const code_verifier = randomIds.secret(32);
  const code = service.approve({
    client_id: client.client_id,
    namespace: digestOf(randomIds.secret(16)),
    scope: "agents:read",
    redirect_uri: REDIRECT,
    code_challenge: createHash("sha256").update(code_verifier).digest("base64url"),
    form_id: randomIds.secret(16),
    expires_at: systemClock.now() + DAY_MS,
  });
  service.exchange(client, { code, code_verifier, redirect_uri: REDIRECT });
}

function meanMs<T>(samples: readonly T[], work: (sample: T) => void): number {
  const from = performance.now();
  for (const sample of samples) work(sample);
  return (performance.now() - from) / samples.length;
}

/** Another connection to the same file, as a restarted relay opens it. */
function openMs(path: string): number {
  const log = jsonLog(systemClock, "error", () => undefined);
  const from = performance.now();
  openDatabase(path, ISSUER, { clock: systemClock, log })[Symbol.dispose]();
  return performance.now() - from;
}
