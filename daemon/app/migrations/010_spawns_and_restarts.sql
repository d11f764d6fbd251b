-- Spawns wait for their peers, and restarts are logged, across restarts of the daemon.

create table spawns (
  seq integer primary key,
  spawn_id text not null unique,
  backend text not null,
  profile text,
  path text not null,
  circle text not null,
  role text not null check (role in ('agent', 'orchestrator')),
  name text,
  tmux_socket text not null,
  tmux_session text not null,
  pane_id text not null,
  registration_state text not null
    check (registration_state in ('awaiting', 'registered', 'timed_out')),
  peer_id text,
  seed text,
  seed_from text,
  seed_human integer not null check (seed_human in (0, 1)),
  seed_state text check (seed_state in ('awaiting_registration', 'undeliverable')),
  warnings text not null,
  created_at integer not null,
  settled_at integer
) strict;
create index spawns_open on spawns (created_at) where settled_at is null;
create index spawns_peer on spawns (peer_id, created_at) where peer_id is not null;

create table restarts (
  seq integer primary key,
  restart_id text not null unique,
  peer_id text not null,
  state text not null check (state in ('preflight', 'quiesce', 'stop', 'launch', 'register',
    'seed', 'restarted', 'cancelled', 'failed')),
  resume_mode text not null check (resume_mode in ('resumed', 'fresh')),
  would_run text,
  failed text,
  stages text not null,
  tmux_socket text,
  pane_id text,
  old_pid integer,
  old_started text,
  new_pid integer,
  new_started text,
  seed text,
  seed_from text,
  seed_human integer not null check (seed_human in (0, 1)),
  started_at integer not null,
  finished_at integer
) strict;
create index restarts_peer on restarts (peer_id, seq);
create index restarts_open on restarts (seq) where finished_at is null;
