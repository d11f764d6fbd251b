/** SQL for grants, codes and tokens: one statement per function. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, type Tx } from "kit/data/sqlite.ts";
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
const GrantRow = rowOf(Grant);

const Code = z.object({
  code_hash: z.string(),
  grant_id: z.string(),
  redirect_uri: z.string(),
  code_challenge: z.string(),
  state: z.enum(codeMachine.states),
  expires_at: Instant,
});
type Code = z.output<typeof Code>;
const CodeRow = rowOf(Code);

const RefreshToken = z.object({
  token_hash: z.string(),
  grant_id: z.string(),
  state: z.enum(refreshMachine.states),
});
type RefreshToken = z.output<typeof RefreshToken>;
const RefreshRow = rowOf(RefreshToken);

const AccessToken = z.object({
  token_hash: z.string(),
  grant_id: z.string(),
  expires_at: Instant,
});
type AccessToken = z.output<typeof AccessToken>;
const AccessRow = rowOf(AccessToken);

const BearerRow = rowOf(Bearer);

const ConnectionRow = rowOf(Grant.extend({ client_name: z.string().nullable() }));
export type Connection = z.output<typeof ConnectionRow>;

const Exists = z.object({});

/** Checks an access token with two searches by primary key and no write. */
export const BEARER = `select g.grant_id, g.namespace, g.asker, g.scope
  from oauth_access_tokens t join oauth_grants g on g.grant_id = t.grant_id
  where t.token_hash = :token_hash and t.expires_at > :now
    and g.state = 'active' and g.expires_at > :now`;

export function bearer(db: Reader, token_hash: string, now: number): Bearer | undefined {
  return db.get(BearerRow, BEARER, { token_hash, now });
}

export function grant(db: Reader, grant_id: string): Grant | undefined {
  return db.get(GrantRow, `select * from oauth_grants where grant_id = :grant_id`, { grant_id });
}

export function isAsker(db: Reader, asker: string): boolean {
  return db.get(Exists, `select 1 from oauth_grants where asker = :asker`, { asker }) !== undefined;
}

/** True if a person has allowed this client, and the grant is stored. */
export function hasGrant(db: Reader, client_id: string): boolean {
  const sql = `select 1 from oauth_grants where client_id = :client_id limit 1`;
  return db.get(Exists, sql, { client_id }) !== undefined;
}

/** True if this namespace has a stored grant whose code was exchanged. */
export function hasExchangedGrant(db: Reader, namespace: string): boolean {
  const sql = `select 1 from oauth_grants
    where namespace = :namespace and exchanged_at is not null limit 1`;
  return db.get(Exists, sql, { namespace }) !== undefined;
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

export function insertGrant(tx: Tx, grant: Grant): void {
  tx.run(
    `insert into oauth_grants (grant_id, client_id, namespace, asker, scope, state, granted_at,
       exchanged_at, expires_at)
     values (:grant_id, :client_id, :namespace, :asker, :scope, :state, :granted_at,
       :exchanged_at, :expires_at)`,
    GrantRow.encode(grant),
  );
}

export function stepGrant(tx: Tx, grant: Grant): void {
  tx.run(
    `update oauth_grants set state = :state, scope = :scope, exchanged_at = :exchanged_at,
       expires_at = :expires_at
     where grant_id = :grant_id`,
    GrantRow.encode(grant),
  );
}

export function code(db: Reader, code_hash: string): Code | undefined {
  return db.get(CodeRow, `select * from oauth_codes where code_hash = :code_hash`, { code_hash });
}

export function insertCode(tx: Tx, code: Code): void {
  tx.run(
    `insert into oauth_codes
       (code_hash, grant_id, redirect_uri, code_challenge, state, expires_at)
     values (:code_hash, :grant_id, :redirect_uri, :code_challenge, :state, :expires_at)`,
    CodeRow.encode(code),
  );
}

export function stepCode(tx: Tx, { code_hash, state }: Code): void {
  tx.run(`update oauth_codes set state = :state where code_hash = :code_hash`, {
    code_hash,
    state,
  });
}

export function refreshToken(db: Reader, token_hash: string): RefreshToken | undefined {
  return db.get(
    RefreshRow,
    `select * from oauth_refresh_tokens where token_hash = :token_hash`,
    { token_hash },
  );
}

export function insertRefreshToken(tx: Tx, token: RefreshToken): void {
  tx.run(
    `insert into oauth_refresh_tokens (token_hash, grant_id, state)
     values (:token_hash, :grant_id, :state)`,
    RefreshRow.encode(token),
  );
}

export function stepRefreshToken(tx: Tx, { token_hash, state }: RefreshToken): void {
  tx.run(`update oauth_refresh_tokens set state = :state where token_hash = :token_hash`, {
    token_hash,
    state,
  });
}

export function accessToken(db: Reader, token_hash: string): AccessToken | undefined {
  return db.get(
    AccessRow,
    `select * from oauth_access_tokens where token_hash = :token_hash`,
    { token_hash },
  );
}

export function insertAccessToken(tx: Tx, token: AccessToken): void {
  tx.run(
    `insert into oauth_access_tokens (token_hash, grant_id, expires_at)
     values (:token_hash, :grant_id, :expires_at)`,
    AccessRow.encode(token),
  );
}

export function removeAccessToken(tx: Tx, token_hash: string): void {
  tx.run(`delete from oauth_access_tokens where token_hash = :token_hash`, { token_hash });
}

export function isSpent(db: Reader, form_id: string): boolean {
  const sql = `select 1 from oauth_spent_forms where form_id = :form_id`;
  return db.get(Exists, sql, { form_id }) !== undefined;
}

export function spendForm(tx: Tx, form_id: string, expires_at: number): void {
  tx.run(
    `insert into oauth_spent_forms (form_id, expires_at) values (:form_id, :expires_at)`,
    { form_id, expires_at },
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

/** Deletes expired grants. Their codes and tokens are deleted with them. */
export function expireGrants(tx: Tx, now: number, max: number): number {
  return tx.run(
    `delete from oauth_grants where grant_id in
       (select grant_id from oauth_grants where expires_at <= :now limit :max)`,
    { now, max },
  );
}

export function expireAccessTokens(tx: Tx, now: number, max: number): number {
  return tx.run(
    `delete from oauth_access_tokens where token_hash in
       (select token_hash from oauth_access_tokens where expires_at <= :now limit :max)`,
    { now, max },
  );
}

export function expireForms(tx: Tx, now: number, max: number): number {
  return tx.run(
    `delete from oauth_spent_forms where form_id in
       (select form_id from oauth_spent_forms where expires_at <= :now limit :max)`,
    { now, max },
  );
}
