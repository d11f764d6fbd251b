-- Subscriptions: messages that are sent when a peer, a job, an ask or a file is in a state.
-- `pending` counts occurrences that are not told yet; `due_at` is when they are.

create table subscriptions (
  seq integer primary key,
  subscription_id text not null unique,
  from_peer text not null,
  from_peer_id text,
  from_peer_name text not null,
  condition text not null,
  kind text not null check (kind in ('peer', 'job', 'ask', 'file')),
  subject_id text not null,
  expected text not null,
  glob text,
  folder text,
  to_peer text,
  text text,
  circle text,
  circle_given integer not null check (circle_given in (0, 1)),
  proven_human integer not null check (proven_human in (0, 1)),
  until integer,
  state text not null check (state in ('active', 'fired', 'failed', 'expired', 'cancelled')),
  holds integer not null check (holds in (0, 1)),
  pending integer not null check (pending >= 0),
  pending_proof text,
  due_at integer,
  fires integer not null,
  last_fired_at integer,
  last_outcome text check (last_outcome in ('fired', 'failed')),
  last_error text,
  last_proof text,
  last_message_id text,
  files_since integer,
  scan_at integer,
  created_at integer not null,
  settled_at integer,
  check ((state = 'active') = (settled_at is null)),
  check ((pending > 0) = (due_at is not null)),
  check ((kind = 'file') = (glob is not null and folder is not null))
) strict;
create index subscriptions_active on subscriptions (seq) where state = 'active';
create index subscriptions_due on subscriptions (due_at) where state = 'active';
create index subscriptions_scan on subscriptions (scan_at) where state = 'active';
create index subscriptions_until on subscriptions (until) where state = 'active';
create index subscriptions_subject on subscriptions (subject_id) where state = 'active';
create index subscriptions_subscriber on subscriptions (from_peer_id) where state = 'active';
create index subscriptions_settled on subscriptions (settled_at) where settled_at is not null;
