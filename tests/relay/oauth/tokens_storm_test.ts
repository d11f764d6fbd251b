/** Random sequences of token requests: a grant has at most one current refresh token. */

import assert from "node:assert/strict";
import { MINUTE_MS } from "kit/core/duration.ts";
import fc from "fast-check";
import { digestOf, namespaceOf } from "../../../relay/web/secrets.ts";
import * as rows from "../../../relay/oauth/grant_store.ts";
import {
  ALL_SCOPES,
  App,
  countRows,
  type OAuthWorld,
  oauthWorld,
  parseTokens,
  Person,
  READ_SCOPE,
  SECRET,
  type Tokens,
} from "../../support/relay/oauth_world.ts";

function isLive(w: OAuthWorld, access_token: string): boolean {
  return rows.bearer(w.db, digestOf(access_token), w.clock.now()) !== undefined;
}

/** Every order of 0 to count-1. */
function permutations(count: number): number[][] {
  if (count === 0) return [[]];
  return permutations(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => order.toSpliced(at, 0, count - 1))
  );
}

Deno.test("in every order of replays, the first consumed refresh token revokes the grant [5.oauth.refresh.reuse]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  for (const order of permutations(4)) {
    const issued: Tokens[] = [await app.connect()];
    while (issued.length < 4) issued.push(await parseTokens(await app.refresh(last(issued))));
    let revoked = false, current = 3;
    for (const at of order) {
      const token = issued[at]?.refresh_token ?? "";
      const response = await app.refresh(token);
      if (!revoked && at === current) {
        issued.push(await parseTokens(response));
        current = issued.length - 1;
      } else {
        assert.equal(response.status, 400, `${order} at ${at}`);
        revoked = true;
      }
      const live = issued.filter(({ access_token }) => isLive(w, access_token));
      assert.equal(live.length, revoked ? 0 : issued.length, `${order} at ${at}`);
    }
    assert.ok(revoked);
  }
});

function last(issued: readonly Tokens[]): string {
  return issued.at(-1)?.refresh_token ?? "";
}

Deno.test("only one of many concurrent refreshes with a token succeeds, and the grant is revoked", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  const answers = await Promise.all(Array.from({ length: 8 }, () => app.refresh(refresh_token)));
  const winners = answers.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  const tokens = await parseTokens(winners[0] ?? Response.error());
  assert.ok(!isLive(w, tokens.access_token));
  assert.equal((await app.refresh(tokens.refresh_token)).status, 400);
});

Deno.test("only one of many concurrent exchanges of a code succeeds, and the grant is revoked [5.oauth.code-reused]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const code = (await new Person(w).allow(app)).searchParams.get("code") ?? "";
  const answers = await Promise.all(Array.from({ length: 8 }, () => app.redeem(code)));
  const winners = answers.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  assert.ok(!isLive(w, (await parseTokens(winners[0] ?? Response.error())).access_token));
});

/** The expected state of a grant, by the specification. */
interface Model {
  readonly app: App;
  readonly code: string;
  readonly granted_at: number;
  exchanged: boolean;
  ended: boolean;
  scope: string;
  current: string | undefined;
  readonly refresh: Set<string>;
  /** Access tokens with their expiry. */
  readonly access: Map<string, number>;
}

const GRANT_MS = 30 * 24 * 60 * MINUTE_MS;

// deno-fmt-ignore
const Step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ verb: fc.constant("connect" as const), wide: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ verb: fc.constant("exchange" as const), grant: fc.nat() }) },
  { weight: 8, arbitrary: fc.record({ verb: fc.constant("refresh" as const), grant: fc.nat(), which: fc.option(fc.nat(), { freq: 4 }), scope: fc.constantFrom(undefined, READ_SCOPE, ALL_SCOPES) }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant("revoke" as const), grant: fc.nat(), which: fc.nat(), access: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant("wait" as const), ms: fc.constantFrom(30_000, MINUTE_MS, 15 * MINUTE_MS, GRANT_MS / 3) }) },
);
type Step = typeof Step extends fc.Arbitrary<infer S> ? S : never;

/** 401 if the client has expired, too. */
function assertRefused({ status }: Response): void {
  assert.ok(status === 400 || status === 401, `${status}`);
}

class Storm {
  readonly #w: OAuthWorld;
  readonly #grants: Model[] = [];

  constructor(w: OAuthWorld) {
    this.#w = w;
  }

  async step(step: Step): Promise<void> {
    if (step.verb === "wait") await this.#w.clock.advance(step.ms);
    else if (step.verb === "connect") await this.#connect(step.wide ? ALL_SCOPES : READ_SCOPE);
    else {
      const grant = this.#grants[step.grant % Math.max(1, this.#grants.length)];
      if (!grant) return;
      if (step.verb === "exchange") await this.#exchange(grant);
      else if (step.verb === "refresh") await this.#refresh(grant, step);
      else await this.#revoke(grant, step);
    }
    this.#checkInvariants();
  }

  async #connect(scope: string): Promise<void> {
    const app = await App.register(this.#w);
    const answer = await new Person(this.#w).allow(app, { scope });
    this.#grants.push({
      app,
      code: answer.searchParams.get("code") ?? "",
      granted_at: this.#w.clock.now(),
      scope,
      exchanged: false,
      ended: false,
      current: undefined,
      refresh: new Set(),
      access: new Map(),
    });
  }

  async #exchange(grant: Model): Promise<void> {
    const response = await grant.app.redeem(grant.code);
    const fresh = this.#w.clock.now() < grant.granted_at + MINUTE_MS;
    if (!grant.exchanged && fresh) {
      grant.exchanged = true;
      this.#issued(grant, await parseTokens(response));
    } else {
      assertRefused(response);
      grant.ended ||= grant.exchanged;
    }
  }

  async #refresh(
    grant: Model,
    { which, scope }: { which: number | null; scope: string | undefined },
  ): Promise<void> {
    const all = [...grant.refresh];
    const token = which === null ? grant.current : all[which % Math.max(1, all.length)];
    if (token === undefined) return;
    const response = await grant.app.refresh(token, { scope });
    const narrows = scope === undefined || scope === READ_SCOPE || grant.scope === ALL_SCOPES;
    if (token === grant.current && this.#isLive(grant) && narrows) {
      grant.scope = scope ?? grant.scope;
      this.#issued(grant, await parseTokens(response));
    } else {
      assertRefused(response);
      grant.ended ||= token !== grant.current;
    }
  }

  async #revoke(grant: Model, { which, access }: { which: number; access: boolean }) {
    const all = access ? [...grant.access.keys()] : [...grant.refresh];
    const token = all[which % Math.max(1, all.length)];
    if (token === undefined) return;
    assert.equal((await grant.app.revoke(token)).status, 200);
    if (access) grant.access.delete(token);
    else grant.ended = true;
  }

  #issued(grant: Model, { access_token, refresh_token, scope }: Tokens): void {
    assert.equal(scope, grant.scope);
    grant.current = refresh_token;
    grant.refresh.add(refresh_token);
    grant.access.set(access_token, this.#w.clock.now() + 15 * MINUTE_MS);
  }

  #isLive(grant: Model): boolean {
    return !grant.ended && this.#w.clock.now() < grant.granted_at + GRANT_MS;
  }

  /** Compares the validity of each token with the expectation, and limits the stored rows. */
  #checkInvariants(): void {
    const now = this.#w.clock.now();
    for (const grant of this.#grants) {
      for (const [token, until] of grant.access) {
        const bearer = rows.bearer(this.#w.db, digestOf(token), now);
        assert.equal(bearer !== undefined, this.#isLive(grant) && now < until);
        if (!bearer) continue;
        assert.equal(bearer.scope, grant.scope);
        assert.equal(bearer.namespace, namespaceOf(SECRET));
      }
    }
    const { db } = this.#w;
    assert.ok(countRows(db, "oauth_grants") <= this.#grants.length);
    const doubled = `select grant_id from oauth_refresh_tokens where state = 'current'
      group by grant_id having count(*) > 1`;
    assert.equal(countRows(db, `(${doubled})`), 0, "a grant has one current refresh token");
  }
}

Deno.test("random codes, refreshes, revocations and waits behave as specified", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { minLength: 5, maxLength: 40 }), async (steps) => {
      using w = oauthWorld();
      const storm = new Storm(w);
      for (const step of steps) await storm.step(step);
    }),
    { numRuns: 60 },
  );
});
