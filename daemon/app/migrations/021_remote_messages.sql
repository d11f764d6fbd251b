-- Messages that another machine sent here, and messages that were sent to another machine. Ids are a
-- machine's own, so each row has those of the machine that accepted the message first, its origin.

create table remote_messages (
  seq integer primary key,
  daemon_id text not null,
  -- Whether this machine is the origin.
  sent integer not null check (sent in (0, 1)),
  delivery_id text not null,
  correlation_id text,
  -- How many follow-ups came before it, on all machines.
  hops integer not null,
  -- The entry that takes it to the other machine, while that entry may be withdrawn.
  entry_tag text,
  -- The last report that went to the origin, or came from the other machine.
  reported text
) strict;
create unique index remote_messages_delivery on remote_messages (daemon_id, sent, delivery_id);
create index remote_messages_ask on remote_messages (daemon_id, sent, correlation_id)
  where correlation_id is not null;
