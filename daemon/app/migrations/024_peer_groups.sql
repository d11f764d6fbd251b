-- The tags of peers, by which several are addressed at once.

alter table peers add column tags text not null default '[]' check (json_valid(tags));

-- Whether a peer is reminded of asks as it stops; null follows the setting asks.reminders.

alter table peers add column reminders integer check (reminders in (0, 1));

-- The follow-ups of an ask, by which the members of its thread are found.

create index messages_reply_to on messages (reply_to) where reply_to is not null;
