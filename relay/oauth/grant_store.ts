/** SQL for grants, codes and tokens: one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, tableOf, type Tx } from "kit/data/sqlite.ts";
import type { Params } from "kit/data/statements.ts";
import { Bearer } from "protocol/relay/mcp.ts";
import { Scope } from "protocol/relay/oauth.ts";
import { codeMachine, grantMachine, refreshMachine } from "./states.ts";

const Grant = z.object({
  grant_id: z.string(),
  client_id: z.string(),
  namespace: z.string(),
  asker: z.string(),
  scope: Scope,
  state: z.enum(grantMachine.states),
  granted_at: Instant,
  exchanged_at: Instant.nullable(),
  expires_at: Instant,
});
export type Grant = z.output<typeof Grant>;
export const grants = tableOf("oauth_grants", Grant, "grant_id");

const Code = z.object({
  code_hash: z.string(),
  grant_id: z.string(),
  redirect_uri: z.string(),
  code_challenge: z.string(),
  state: z.enum(codeMachine.states),
  expires_at: Instant,
});
export const codes = tableOf("oauth_codes", Code, "code_hash");

const RefreshToken = z.object({
  token_hash: z.string(),
  grant_id: z.string(),
  state: z.enum(refreshMachine.states),
});
export const refreshTokens = tableOf("oauth_refresh_tokens", RefreshToken, "token_hash");

const AccessToken = z.object({
  token_hash: z.string(),
  grant_id: z.string(),
  expires_at: Instant,
});
export const accessTokens = tableOf("oauth_access_tokens", AccessToken, "token_hash");

const SpentForm = z.object({ form_id: z.string(), expires_at: Instant });
export const spentForms = tableOf("oauth_spent_forms", SpentForm, "form_id");

const BearerRow = rowOf(Bearer);

const ConnectionRow = rowOf(Grant.extend({ client_name: z.string().nullable() }));
export type Connection = z.output<typeof ConnectionRow>;

/** Checks an access token with two searches by primary key and no write. */
export const BEARER = `select g.grant_id, g.namespace, g.asker, g.scope
  from oauth_access_tokens t join oauth_grants g on g.grant_id = t.grant_id
  where t.token_hash = :token_hash and t.expires_at > :now
    and g.state = 'active' and g.expires_at > :now`;

export function bearer(db: Reader, token_hash: string, now: number): Bearer | undefined {
  return db.get(BearerRow, BEARER, { token_hash, now });
}

export function isAsker(db: Reader, asker: string): boolean {
  return exists(db, "asker = :asker", { asker });
}

/** True if a person has allowed this client, and the grant is stored. */
export function hasGrant(db: Reader, client_id: string): boolean {
  return exists(db, "client_id = :client_id", { client_id });
}

/** True if this namespace has a stored grant whose code was exchanged. */
export function hasExchangedGrant(db: Reader, namespace: string): boolean {
  return exists(db, "namespace = :namespace and exchanged_at is not null", { namespace });
}

function exists(db: Reader, condition: string, params: Params): boolean {
  const sql = `select 1 from oauth_grants where ${condition} limit 1`;
  return db.value(z.number(), sql, params) !== undefined;
}

export function connections(
  db: Reader,
  { namespace, now, max }: { namespace: string; now: number; max: number },
): Connection[] {
  return db.all(
    ConnectionRow,
    `select g.*, c.client_name from oauth_grants g join oauth_clients c using (client_id)
     where g.namespace = :namespace and g.state = 'active' and g.expires_at > :now
     order by g.granted_at desc limit :max`,
    { namespace, now, max },
  );
}

export function revokeAll(tx: Tx): number {
  return tx.run(`update oauth_grants set state = 'revoked' where state <> 'revoked'`, {});
}

/** Limits the remaining lifetime of every code, grant and token to its maximum. */
export function limitLifetimes(
  tx: Tx,
  latest: { readonly code: number; readonly token: number; readonly grant: number },
): void {
  const shorten = (table: string, at: number, more = "") =>
    tx.run(`update ${table} set expires_at = :at where expires_at > :at ${more}`, { at });
  shorten("oauth_codes", latest.code);
  shorten("oauth_access_tokens", latest.token);
  shorten("oauth_grants", latest.code, "and state = 'inactive'");
  shorten("oauth_grants", latest.grant, "and state = 'active'");
}

/** A function that deletes up to `max` expired rows of a table. */
export function expiryOf(table: string, key: string) {
  return (tx: Tx, now: number, max: number): number =>
    tx.run(
      `delete from ${table} where ${key} in
         (select ${key} from ${table} where expires_at <= :now limit :max)`,
      { now, max },
    );
}

/** The codes and tokens of an expired grant are deleted with it. */
export const expireGrants = expiryOf("oauth_grants", "grant_id");
export const expireAccessTokens = expiryOf("oauth_access_tokens", "token_hash");
export const expireForms = expiryOf("oauth_spent_forms", "form_id");
