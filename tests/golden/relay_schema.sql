-- The relay's tables after 2 migration(s).

CREATE TABLE oauth_access_tokens (
  token_hash text primary key,
  grant_id text not null references oauth_grants on delete cascade,
  expires_at integer not null
) strict, without rowid;

CREATE INDEX oauth_access_tokens_expire on oauth_access_tokens (expires_at);

CREATE INDEX oauth_access_tokens_of_grant on oauth_access_tokens (grant_id);

CREATE TABLE oauth_clients (
  client_id text primary key,
  client_name text,
  redirect_uris text not null,
  state text not null check (state in ('unused', 'used')),
  registered_at integer not null,
  expires_at integer not null
) strict;

CREATE INDEX oauth_clients_expire on oauth_clients (expires_at);

CREATE INDEX oauth_clients_unused on oauth_clients (registered_at) where state = 'unused';

CREATE TABLE oauth_codes (
  code_hash text primary key,
  grant_id text not null unique references oauth_grants on delete cascade,
  redirect_uri text not null,
  code_challenge text not null,
  state text not null check (state in ('issued', 'spent')),
  expires_at integer not null
) strict, without rowid;

CREATE TABLE oauth_grants (
  grant_id text primary key,
  client_id text not null references oauth_clients on delete cascade,
  namespace text not null,
  asker text not null unique,
  scope text not null,
  state text not null check (state in ('inactive', 'active', 'revoked')),
  granted_at integer not null,
  exchanged_at integer,
  expires_at integer not null
) strict, without rowid;

CREATE INDEX oauth_grants_expire on oauth_grants (expires_at);

CREATE INDEX oauth_grants_of_client on oauth_grants (client_id);

CREATE INDEX oauth_grants_of_namespace on oauth_grants (namespace, granted_at);

CREATE TABLE oauth_issuer (
  one integer primary key check (one = 1),
  issuer text not null
) strict;

CREATE TABLE oauth_mark (
  one integer primary key check (one = 1),
  mark text not null,
  mark_before text
) strict;

CREATE TABLE oauth_refresh_tokens (
  token_hash text primary key,
  grant_id text not null references oauth_grants on delete cascade,
  state text not null check (state in ('current', 'consumed'))
) strict, without rowid;

CREATE INDEX oauth_refresh_tokens_of_grant on oauth_refresh_tokens (grant_id);

CREATE TABLE oauth_spent_forms (
  form_id text primary key,
  expires_at integer not null
) strict, without rowid;

CREATE INDEX oauth_spent_forms_expire on oauth_spent_forms (expires_at);
