-- Browsers that were paired by a one-time code, each with a session of its own.

create table paired_devices (
  device_id text primary key,
  digest text not null unique,
  name text not null,
  user_agent text,
  via text not null check (via in ('daemon', 'relay')),
  created_at integer not null,
  used_at integer not null,
  expires_at integer not null
) strict, without rowid;

-- Browsers that get pushes, and each push with its state.

create table push_subscriptions (
  subscription_id text primary key,
  device_id text references paired_devices (device_id) on delete cascade,
  endpoint text not null,
  p256dh text not null,
  auth text not null,
  name text not null,
  user_agent text,
  account text,
  via text not null check (via in ('daemon', 'relay')),
  questions integer not null check (questions in (0, 1)),
  approvals integer not null check (approvals in (0, 1)),
  done integer not null check (done in (0, 1)),
  created_at integer not null,
  used_at integer,
  ended_at integer,
  end_reason text
) strict, without rowid;
create unique index push_subscriptions_endpoint on push_subscriptions (endpoint)
  where ended_at is null;
create index push_subscriptions_device on push_subscriptions (device_id)
  where device_id is not null;

create table push_messages (
  seq integer primary key,
  push_id text not null unique,
  subscription_id text not null
    references push_subscriptions (subscription_id) on delete cascade,
  item_id text references inbox_items (item_id) on delete cascade,
  delivery_id text,
  kind text not null check (kind in ('item', 'close', 'test')),
  state text not null check (state in (
    'queued', 'sending', 'taken', 'shown', 'opened', 'dismissed', 'failed', 'dropped'
  )),
  reason text,
  attempts integer not null,
  due_at integer not null,
  expires_at integer not null,
  created_at integer not null,
  changed_at integer not null
) strict;
create index push_messages_open on push_messages (due_at) where state in ('queued', 'sending');
create index push_messages_item on push_messages (item_id) where item_id is not null;
create index push_messages_subscription on push_messages (subscription_id, seq);
