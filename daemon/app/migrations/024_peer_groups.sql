-- The tags of peers, by which several are addressed at once.

alter table peers add column tags text not null default '[]' check (json_valid(tags));

-- Whether a peer is reminded of asks as it stops; null follows the setting asks.reminders.

alter table peers add column reminders integer check (reminders in (0, 1));

-- A peer's own limits; null follows daemon.queue.max_per_peer and daemon.limits.pair_per_minute.

alter table peers add column queue_max integer check (queue_max > 0);
alter table peers add column pair_per_minute integer check (pair_per_minute >= 0);

-- Whether the peer's hooks hand it messages.

alter table peers add column hook_messages integer not null default 1
  check (hook_messages in (0, 1));

-- The follow-ups of an ask, by which the members of its thread are found.

create index messages_reply_to on messages (reply_to) where reply_to is not null;
