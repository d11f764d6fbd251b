/** A relay with OAuth in memory, an app, and a person with a browser. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Ids } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import type { Database } from "kit/data/sqlite.ts";
import { OriginPolicy } from "../../../relay/web/origin_policy.ts";
import type { Proxy } from "../../../relay/web/client_address.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { openOAuth } from "../../../relay/oauth/oauth.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import { FakeClock } from "../clock.ts";
import { countingIds } from "../ids.ts";
import { openRelay } from "./oauth_relay.ts";
import { SwiftClock } from "../swift_clock.ts";

export const ISSUER = "https://relay.example.com";
export const RESOURCE = `${ISSUER}/mcp`;
export const CALLBACK = "https://app.example.net/callback";
export const SECRET = `mesh_sk_${"a".repeat(43)}`;
export const OTHER_SECRET = `mesh_sk_${"b".repeat(43)}`;
export const VERIFIER = "v".repeat(43);
export const CHALLENGE = s256(VERIFIER);
export const READ_SCOPE = "agents:read";
export const ALL_SCOPES = "agents:read agents:write";

export function s256(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

const Tokens = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.number(),
  refresh_token: z.string(),
  scope: z.string(),
});
export type Tokens = z.output<typeof Tokens>;

type Params = Readonly<Record<string, string | undefined>>;

export interface OAuthWorldOptions {
  readonly issuer?: string;
  readonly clock?: FakeClock;
  readonly ids?: Ids;
  /** An existing database. */
  readonly db?: Database;
  readonly proxy?: Proxy;
}

export type OAuthWorld = ReturnType<typeof oauthWorld>;

/** The default remote address is different for each request, so that none is rate-limited. */
let visitors = 0;

export function oauthWorld(options: OAuthWorldOptions = {}) {
  const { issuer = ISSUER, clock = new SwiftClock(), ids = countingIds() } = options;
  const logged: string[] = [];
  const log = jsonLog(clock, "debug", (line) => logged.push(line));
  const db = options.db ?? openDatabase(":memory:", issuer, { clock, log });
  /** The namespaces that have a connected daemon. */
  const onlineNamespaces = new Set([namespaceOf(SECRET), namespaceOf(OTHER_SECRET)]);
  const machine = {
    daemon_id: "dm-000000000001",
    machine: "here",
    connected_at: clock.now(),
    version: "0.1.0",
    capabilities: {},
  };
  const relay = openRelay({
    clock,
    ids,
    log,
    proxy: options.proxy ?? { mode: "direct" },
    machines: { list: (namespace) => onlineNamespaces.has(namespace) ? [machine] : [] },
    oauth: { issuer, db },
  });
  const fetch = (path: string, init: RequestInit & { from?: string } = {}) => {
    const hostname = init.from ?? `10.0.${++visitors >> 8 & 255}.${visitors & 255}`;
    const remote = { transport: "tcp", hostname, port: 50_000 } as const;
    return relay(new Request(new URL(path, issuer), init), remote);
  };
  return {
    clock,
    ids,
    db,
    log,
    logged,
    onlineNamespaces,
    issuer,
    fetch,
    resource: `${issuer}/mcp`,
    postForm: (path: string, params: Params | string, headers: Record<string, string> = {}) =>
      fetch(path, { method: "POST", body: formOf(params), headers: { ...FORM, ...headers } }),
    postJson: (path: string, body: unknown, from?: string) =>
      fetch(path, { method: "POST", body: JSON.stringify(body), ...(from && { from }) }),
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Encodes parameters without undefined ones; a string is sent unchanged. */
function formOf(params: Params | string): string {
  return typeof params === "string" ? params : queryOf(params);
}

function queryOf(params: Params): string {
  const present = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]]
  );
  return new URLSearchParams(present).toString();
}

/** The status and the code of an error response, whose format is checked. */
export async function oauthError(response: Response): Promise<[number, string]> {
  const body = z.object({ error: z.string(), error_description: z.string().min(10) })
    .parse(await response.json());
  assert.equal(response.headers.get("cache-control"), "no-store");
  return [response.status, body.error];
}

/** The interface of a relay for an app and a person. */
export type OAuthSite = Pick<
  OAuthWorld,
  "fetch" | "issuer" | "postForm" | "postJson" | "resource"
>;

/** A registered app. */
export class App {
  readonly world: OAuthSite;
  readonly client_id: string;
  readonly redirect_uri: string;

  constructor(world: OAuthSite, client_id: string, redirect_uri: string) {
    this.world = world;
    this.client_id = client_id;
    this.redirect_uri = redirect_uri;
  }

  static async register(world: OAuthSite, redirect_uri = CALLBACK): Promise<App> {
    const response = await world.postJson("/oauth/register", {
      redirect_uris: [redirect_uri],
      client_name: "An app",
    });
    assert.equal(response.status, 201);
    const { client_id } = z.object({ client_id: z.string() }).parse(await response.json());
    return new App(world, client_id, redirect_uri);
  }

  /** The URL of the authorization request. */
  authorizePath(overrides: Params = {}): string {
    return `/oauth/authorize?${
      queryOf({
        response_type: "code",
        client_id: this.client_id,
        redirect_uri: this.redirect_uri,
        code_challenge: CHALLENGE,
        code_challenge_method: "S256",
        resource: this.world.resource,
        scope: ALL_SCOPES,
        state: "st 1",
        ...overrides,
      })
    }`;
  }

  /** Connects the app: the person allows it, and it exchanges the code. */
  async connect(overrides: Params = {}, person = new Person(this.world)): Promise<Tokens> {
    const answer = await person.allow(this, overrides);
    const code = answer.searchParams.get("code");
    assert.ok(code, answer.href);
    return await parseTokens(await this.redeem(code));
  }

  redeem(code: string, overrides: Params = {}): Promise<Response> {
    return this.world.postForm("/oauth/token", {
      grant_type: "authorization_code",
      client_id: this.client_id,
      resource: this.world.resource,
      code,
      code_verifier: VERIFIER,
      redirect_uri: this.redirect_uri,
      ...overrides,
    });
  }

  refresh(refresh_token: string, overrides: Params = {}): Promise<Response> {
    return this.world.postForm("/oauth/token", {
      grant_type: "refresh_token",
      client_id: this.client_id,
      resource: this.world.resource,
      refresh_token,
      ...overrides,
    });
  }

  revoke(token: string, overrides: Params = {}): Promise<Response> {
    return this.world.postForm("/oauth/revoke", { client_id: this.client_id, token, ...overrides });
  }
}

export async function parseTokens(response: Response): Promise<Tokens> {
  const body: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  assert.equal(response.headers.get("cache-control"), "no-store");
  return Tokens.parse(body);
}

/** A person with a browser, which keeps cookies and posts forms with their Origin. */
export class Person {
  readonly world: OAuthSite;
  readonly cookies = new Map<string, string>();

  constructor(world: OAuthSite) {
    this.world = world;
  }

  async visit(path: string): Promise<Response> {
    return this.#keep(await this.world.fetch(path, { headers: this.#headers() }));
  }

  async submit(path: string, params: Params, headers: Record<string, string> = {}) {
    const all = { ...this.#headers(), origin: this.world.issuer, ...headers };
    return this.#keep(await this.world.postForm(path, params, all));
  }

  /** The sealed request in the consent form of an app. */
  async formFor(app: App, overrides: Params = {}): Promise<string> {
    const page = await this.visit(app.authorizePath(overrides));
    const text = await page.text();
    assert.equal(page.status, 200, text);
    return hiddenField(text, "request");
  }

  async decide(request: string, decision: string, relay_secret?: string): Promise<Response> {
    return await this.submit("/oauth/authorize", { request, decision, relay_secret });
  }

  /** Allows an app's request; returns the redirect. */
  async allow(app: App, overrides: Params = {}, secret: string | undefined = SECRET): Promise<URL> {
    const answer = await this.decide(await this.formFor(app, overrides), "allow", secret);
    assert.equal(answer.status, 303, await answer.text());
    return redirectUrl(answer);
  }

  async signIn(secret = SECRET): Promise<void> {
    const answer = await this.submit("/login", { secret });
    assert.equal(answer.status, 303, await answer.text());
  }

  #headers(): Record<string, string> {
    const pairs = [...this.cookies].map(([name, value]) => `${name}=${value}`);
    return pairs.length > 0 ? { cookie: pairs.join("; ") } : {};
  }

  #keep(response: Response): Response {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}

export function hiddenField(page: string, name: string): string {
  const value = new RegExp(`<input type="hidden" name="${name}"\\s+value="([^"]*)"`).exec(page)
    ?.[1];
  assert.ok(value, `no ${name} in the page: ${/<main>[^]*<\/main>/.exec(page)?.[0]}`);
  return value;
}

export function redirectUrl(response: Response): URL {
  const location = response.headers.get("location");
  assert.ok(location);
  return new URL(location);
}

/** The error code in a redirect to the app. */
export function redirectError(answer: URL): string | null {
  assert.equal(answer.searchParams.get("code"), null);
  return answer.searchParams.get("error");
}

/** Checks access tokens, on the database of a world. */
export function tokenService(w: OAuthWorld) {
  const none = () => undefined;
  const sessions = {
    get: none,
    namespaceOf: none,
    refuseForged: none,
    refuseOtherSession: none,
  };
  const { tokens, clockSetBack } = openOAuth({
    issuer: w.issuer,
    db: w.db,
    clock: w.clock,
    ids: w.ids,
    log: w.log,
    sessions,
    originPolicy: new OriginPolicy(w.issuer),
    machines: { list: () => [] },
    limits: {
      registrations: { take: () => undefined },
      consents: { take: () => undefined },
      exchanges: { acquire: () => undefined },
    },
  });
  return { check: tokens.check, clockSetBack };
}

/** The number of rows of a table. */
export function countRows(db: Database, table: string, where = "1"): number {
  const Count = z.object({ count: z.number() });
  return db.get(Count, `select count(*) as count from ${table} where ${where}`)?.count ?? 0;
}
