-- Whether asks wake the peer; null follows the setting daemon.wake.

alter table peers add column wake_policy text check (wake_policy in ('never', 'ask', 'always'));

-- The wakes of sleeping agents, each with its phase, so that none is lost or doubled in a crash.

create table wakes (
  seq integer primary key,
  wake_id text not null unique,
  peer_id text not null,
  backend text not null,
  session_id text not null,
  state text not null check (state in ('checking', 'asking', 'starting', 'launched', 'awake',
    'resting', 'asleep', 'refused', 'failed', 'over')),
  allowed_by text check (allowed_by in ('policy', 'answer', 'person')),
  cause text,
  question_id text,
  spawn_id text,
  reason text,
  detail text,
  created_at integer not null,
  changed_at integer not null,
  ended_at integer
) strict;

-- At most one wake of a peer and of a session is in progress.

create unique index wakes_open on wakes (peer_id) where ended_at is null;
create unique index wakes_session on wakes (backend, session_id) where ended_at is null;
create index wakes_peer on wakes (peer_id, seq);
create index wakes_question on wakes (question_id) where question_id is not null;
