/** Grants: issues codes after consents, tokens for codes, and new tokens for refresh tokens. */

import { sha256 } from "kit/host/node_library.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import { DAY_MS, MINUTE_MS } from "kit/core/duration.ts";
import type { Database, Tx } from "kit/data/sqlite.ts";
import type { Bearer } from "protocol/relay/mcp.ts";
import { Problem } from "protocol/problems.ts";
import { digestOf } from "../web/secrets.ts";
import type { Client, Credentials, Scope } from "protocol/relay/oauth.ts";
import { codeMachine, type GrantEvent, grantMachine, refreshMachine } from "./states.ts";
import { OAuthRefusal, type RefusalCode } from "./refusals.ts";
import { narrowScope } from "./scopes.ts";
import * as rows from "./grant_store.ts";

const CODE_MS = MINUTE_MS;
const ACCESS_MS = 15 * MINUTE_MS;
/** Lifetime of a grant, counted from the consent. A refresh does not extend it. */
const GRANT_MS = 30 * DAY_MS;
/** Maximum number of connections on the page. */
const CONNECTIONS_MAX = 200;

/** The decision of a person to allow an app. */
interface Consent {
  readonly client_id: string;
  readonly namespace: string;
  readonly scope: Scope;
  readonly redirect_uri: string;
  readonly code_challenge: string;
  /** Identifies the form, because a form can be decided only once. */
  readonly form_id: string;
  readonly expires_at: number;
}

/** The parameters with which a client redeems its code. */
interface Redemption {
  readonly code: string;
  readonly code_verifier: string;
  /** Optional. If present, it must equal the one in the authorization request. */
  readonly redirect_uri: string | undefined;
}

export interface GrantsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Called inside of the transaction of an exchange, to extend the client's life. */
  readonly onExchanged: (client: Client) => void;
  /** Limits the exchanges of one grant. `acquire` returns the seconds to wait, or undefined. */
  readonly exchanges: { acquire(grant_id: string): number | undefined };
}

export class Grants {
  readonly #deps: GrantsDeps;

  constructor(deps: GrantsDeps) {
    this.#deps = deps;
  }

  /** Creates an inactive grant and returns its code. */
  approve(consent: Consent): string {
    const { db, clock, ids } = this.#deps;
    const now = clock.now();
    const code = `mesh_ac_${ids.secret(32)}`, grant_id = `mg_${ids.secret(16)}`;
    const { client_id, namespace, scope, redirect_uri, code_challenge, form_id } = consent;
    db.transactNow((tx) => {
      deleteExpired(tx, now);
      spendForm(tx, form_id, consent.expires_at);
      rows.grants.insert(tx, {
        grant_id,
        client_id,
        namespace,
        scope,
        asker: this.#newAsker(),
        state: "inactive",
        granted_at: now,
        exchanged_at: null,
        expires_at: now + CODE_MS,
      });
      rows.codes.insert(tx, {
        code_hash: digestOf(code),
        grant_id,
        redirect_uri,
        code_challenge,
        state: "issued",
        expires_at: now + CODE_MS,
      });
    });
    return code;
  }

  /** Records that the person denied the form, so that the form cannot be allowed later. */
  deny(form_id: string, form_expires_at: number): void {
    const { db, clock } = this.#deps;
    db.transactNow((tx) => {
      deleteExpired(tx, clock.now());
      spendForm(tx, form_id, form_expires_at);
    });
  }

  /** Exchanges a code for tokens. If the code was used before, revokes its grant. */
  exchange(client: Client, { code, code_verifier, redirect_uri }: Redemption): Credentials {
    const { db, clock } = this.#deps;
    const now = clock.now(), code_hash = digestOf(code);
    return this.#issue(client, "exchanged", (tx) => {
      deleteExpired(tx, now);
      const found = rows.codes.get(db, code_hash);
      const grant = found && rows.grants.get(db, found.grant_id);
      if (!grant || found.expires_at <= now && found.state === "issued") return "wrong_code";
      if (!codeMachine.accepts(found.state, "exchanged")) {
        rows.codes.update(tx, { ...found, state: codeMachine.step(found.state, "replayed") });
        end(tx, grant, "replayed");
        return "replayed_code";
      }
      if (grant.client_id !== client.client_id) return "wrong_code";
      if (redirect_uri !== undefined && redirect_uri !== found.redirect_uri) {
        return "wrong_code_redirect";
      }
      if (!isVerifier(code_verifier, found.code_challenge)) return "wrong_verifier";
      rows.codes.update(tx, { ...found, state: codeMachine.step(found.state, "exchanged") });
      return { ...grant, expires_at: grant.granted_at + GRANT_MS };
    });
  }

  /**
   * Exchanges a refresh token for new tokens. One transaction consumes the token and stores the new
   * ones. If the token was used before, revokes its grant with all tokens (specification 5).
   */
  refresh(client: Client, token: string, scopeParameter: string | undefined): Credentials {
    const { db, clock } = this.#deps;
    const now = clock.now(), token_hash = digestOf(token);
    return this.#issue(client, "refreshed", (tx) => {
      deleteExpired(tx, now);
      const found = rows.refreshTokens.get(db, token_hash);
      const grant = found && rows.grants.get(db, found.grant_id);
      if (!grant) return "wrong_refresh";
      if (!refreshMachine.accepts(found.state, "rotated")) {
        const state = refreshMachine.step(found.state, "replayed");
        rows.refreshTokens.update(tx, { ...found, state });
        end(tx, grant, "replayed");
        return "replayed_refresh";
      }
      const isLive = grant.state === "active" && grant.expires_at > now;
      if (!isLive || grant.client_id !== client.client_id) return "wrong_refresh";
      const scope = narrowScope(grant.scope, scopeParameter);
      if (!scope) return "wider_scope";
      rows.refreshTokens.update(tx, {
        ...found,
        state: refreshMachine.step(found.state, "rotated"),
      });
      return { ...grant, scope };
    });
  }

  /**
   * Revokes the grant of a refresh token, or only an access token. If `client_id` is given, the
   * token must belong to that client. If not, holding the token is enough.
   */
  revoke(token: string, client_id?: string): void {
    const { db, clock } = this.#deps;
    const token_hash = digestOf(token);
    db.transactNow((tx) => {
      deleteExpired(tx, clock.now());
      const refresh = rows.refreshTokens.get(db, token_hash);
      const found = refresh ?? rows.accessTokens.get(db, token_hash);
      const grant = found && rows.grants.get(db, found.grant_id);
      if (!grant || client_id !== undefined && grant.client_id !== client_id) return;
      if (refresh) end(tx, grant, "revoked");
      else rows.accessTokens.remove(tx, token_hash);
    });
  }

  /** Revokes a grant for a person. Returns false if the namespace has no such active grant. */
  disconnect(namespace: string, grant_id: string): boolean {
    const { db, clock } = this.#deps;
    return db.transactNow((tx) => {
      deleteExpired(tx, clock.now());
      const grant = rows.grants.get(db, grant_id);
      const isActive = grant?.namespace === namespace && grant.state === "active";
      if (isActive) end(tx, grant, "revoked");
      return isActive;
    });
  }

  /** The bearer of a valid access token. Undefined for any other token. Writes nothing. */
  bearerOf(token: string): Bearer | undefined {
    const { db, clock } = this.#deps;
    return rows.bearer(db, digestOf(token), clock.now());
  }

  /**
   * Called after the clock was set back: shortens everything that was issued, which would otherwise
   * last longer by the same step.
   */
  clockSetBack(now: number): void {
    const latest = { code: now + CODE_MS, token: now + ACCESS_MS, grant: now + GRANT_MS };
    this.#deps.db.transactNow((tx) => rows.limitLifetimes(tx, latest));
  }

  connections(namespace: string): rows.Connection[] {
    const { db, clock } = this.#deps;
    return rows.connections(db, { namespace, now: clock.now(), max: CONNECTIONS_MAX });
  }

  /** True if a person has allowed this client: it has exchanged a code, or may do so now. */
  isAllowed({ client_id, state }: Client): boolean {
    return state === "used" || rows.hasGrant(this.#deps.db, client_id);
  }

  /** True if an app was connected to this namespace before. If so, the namespace is in use. */
  hasExchangedGrant(namespace: string): boolean {
    return rows.hasExchangedGrant(this.#deps.db, namespace);
  }

  /**
   * Issues tokens in one transaction. `decide` returns the grant or a refusal; what `decide` writes
   * is committed in both cases. The credentials are returned only after the commit.
   */
  #issue(
    client: Client,
    on: GrantEvent & ("exchanged" | "refreshed"),
    decide: (tx: Tx) => rows.Grant | RefusalCode,
  ): Credentials {
    const { db, clock, ids } = this.#deps;
    const access_token = `mesh_at_${ids.secret(32)}`, refresh_token = `mesh_rt_${ids.secret(32)}`;
    const now = clock.now();
    const issued = db.transactNow((tx) => {
      const decided = decide(tx);
      if (typeof decided === "string") return decided;
      const state = grantMachine.step(decided.state, on);
      const grant: rows.Grant = { ...decided, state, exchanged_at: now };
      const { grant_id } = grant;
      this.#enforceLimit(grant_id);
      const expires_at = Math.min(now + ACCESS_MS, grant.expires_at);
      rows.grants.update(tx, grant);
      const token_hash = digestOf(refresh_token);
      rows.refreshTokens.insert(tx, { token_hash, grant_id, state: "current" });
      rows.accessTokens.insert(tx, { token_hash: digestOf(access_token), grant_id, expires_at });
      this.#deps.onExchanged(client);
      return { expires_at, scope: grant.scope };
    });
    if (typeof issued === "string") throw new OAuthRefusal(issued);
    const { expires_at, scope } = issued;
    const expires_in = Math.floor((expires_at - now) / 1000);
    return { access_token, token_type: "Bearer", expires_in, refresh_token, scope };
  }

  /**
   * Throws inside of the transaction, which rolls back. Counts only requests with a code or token
   * of the grant. A client id is public, so anyone could use up a limit that is counted by it.
   */
  #enforceLimit(grant_id: string): void {
    const wait = this.#deps.exchanges.acquire(grant_id);
    if (wait !== undefined) throw new OAuthRefusal("busy", String(wait), wait);
  }

  /** A new asker that no grant has. Grants with the same asker could read each other's replies. */
  #newAsker(): string {
    const { db, ids } = this.#deps;
    for (;;) {
      const asker = ids.next("mcp");
      if (!rows.isAsker(db, asker)) return asker;
    }
  }
}

const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/** Checks PKCE with S256 (RFC 7636 4.6). The challenge is public, so `===` is safe. */
function isVerifier(code_verifier: string, code_challenge: string): boolean {
  if (!VERIFIER.test(code_verifier)) return false;
  return sha256(code_verifier, "base64url") === code_challenge;
}

/** Few grants per write, because each may have thousands of consumed refresh tokens. */
const GRANTS_MAX = 20;
const ROWS_MAX = 500;

/** Deletes some expired rows on each write. Rows that are still there are ignored. */
function deleteExpired(tx: Tx, now: number): void {
  rows.expireGrants(tx, now, GRANTS_MAX);
  rows.expireAccessTokens(tx, now, ROWS_MAX);
  rows.expireForms(tx, now, ROWS_MAX);
}

/** A form can be decided once; this is remembered until it expires. */
function spendForm(tx: Tx, form_id: string, expires_at: number): void {
  if (rows.spentForms.get(tx, form_id)) throw new OAuthRefusal("decided_form");
  rows.spentForms.insert(tx, { form_id, expires_at });
}

/**
 * Runs work on grants for a caller outside of OAuth. A failing database is a 503: nothing is shown
 * as gone, no caller is admitted, and every caller may retry.
 */
export function fromDatabase<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Problem("storage_failed", {}, error);
  }
}

function end(tx: Tx, grant: rows.Grant, on: "revoked" | "replayed"): void {
  rows.grants.update(tx, { ...grant, state: grantMachine.step(grant.state, on) });
}
