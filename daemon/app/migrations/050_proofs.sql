-- Proofs: the checks that an answer must pass, the answer while it is held, and what was found.

create table proofs (
  seq integer primary key,
  correlation_id text not null unique,
  to_peer_id text not null,
  state text not null check (state in
    ('awaiting', 'proving', 'returned', 'verified', 'refuted', 'unproved', 'withdrawn')),
  checks text not null,
  claims text not null,
  folder text,
  -- Hashes of the files that define the checks, by check, at the time of the ask.
  files text,
  answer text,
  answers integer not null,
  -- Starts of the checks of the present answer: more than one if the daemon ended during them.
  runs integer not null,
  reason text,
  results text not null,
  created_at integer not null,
  answered_at integer,
  ended_at integer
) strict;

create index proofs_open on proofs (state) where state in ('awaiting', 'proving', 'returned');
create index proofs_peer on proofs (to_peer_id, state);
create index proofs_ended on proofs (ended_at) where ended_at is not null;

-- What a message says about a proof.

alter table messages add column proof text;
