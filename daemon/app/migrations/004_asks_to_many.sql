-- Ids that askers chose, asks whose asker waits, and asks to many.

create table chosen_ids (
  correlation_id text primary key,
  seq integer not null references messages (seq) on delete cascade
) strict, without rowid;
create index chosen_ids_seq on chosen_ids (seq);

create table held_asks (correlation_id text primary key) strict, without rowid;

create table ask_parents (
  seq integer primary key,
  parent_id text not null unique,
  children text not null,
  created_at integer not null,
  due_at integer
) strict;
create index ask_parents_due on ask_parents (due_at) where due_at is not null;
