-- Scheduled messages: the scheduler finds those that are due, and retention forgets those that are done.

create table schedules (
  seq integer primary key,
  schedule_id text not null unique,
  from_peer text not null,
  from_peer_id text,
  from_peer_name text not null,
  to_peer text not null,
  text text not null,
  kind text not null check (kind in ('notify', 'ask')),
  fire_at integer,
  cron text,
  timezone text,
  circle text,
  state text not null check (state in ('active', 'fired', 'failed', 'cancelled')),
  next_fire_at integer,
  last_fired_at integer,
  last_outcome text check (last_outcome in ('fired', 'failed')),
  last_error text,
  last_message_id text,
  proven_human integer not null check (proven_human in (0, 1)),
  traceparent text,
  created_at integer not null,
  settled_at integer,
  check ((fire_at is null) <> (cron is null)),
  check ((state = 'active') = (next_fire_at is not null)),
  check ((state = 'active') = (settled_at is null))
) strict;
create index schedules_due on schedules (next_fire_at) where state = 'active';
create index schedules_settled on schedules (settled_at) where settled_at is not null;
