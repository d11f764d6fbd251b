-- The limits of accounts, by what their agents tell of them.
create table limits (
  account_id text primary key,
  backend text,
  account text not null,
  state text not null check (state in ('clear', 'throttled', 'exhausted', 'out_of_credits', 'probing')),
  -- The window that is used up; null if it is unknown.
  window text,
  since integer,
  resets_at integer,
  -- When the account is tried again; null if a person decides.
  due_at integer,
  -- Number of limits in a row, which makes the time to the next try longer.
  tries integer not null,
  source text,
  evidence_at integer,
  evidence_peer_id text,
  text text,
  -- The probe: the peer whose turn shows if the limit is over, and the message that began it.
  probe_peer_id text,
  probe_id text,
  probe_at integer,
  -- A person has been offered another vendor, or asked if the account may go on.
  offered integer not null check (offered in (0, 1)),
  asked integer not null check (asked in (0, 1)),
  changed_at integer not null
) strict, without rowid;

-- The turns that a limit ended, until they go on.
create table limited_turns (
  peer_id text primary key,
  account_id text not null,
  at integer not null,
  -- True if the agent goes on by itself at the reset.
  continues integer not null check (continues in (0, 1))
) strict, without rowid;
