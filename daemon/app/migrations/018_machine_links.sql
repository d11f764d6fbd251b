-- What this machine must say to others: entries wait here until the other daemon has applied them.
-- Their ids are never used again, because a link remembers up to which one it has published.

create table link_entries (
  entry_id integer primary key autoincrement,
  daemon_id text not null,
  tag text not null,
  kind text not null,
  body text not null,
  created_at integer not null
) strict;
create index link_entries_machine on link_entries (daemon_id, entry_id);
create unique index link_entries_tag on link_entries (daemon_id, tag);
create index link_entries_refused on link_entries (daemon_id, entry_id) where kind = 'refused';

-- The entries that this machine took from others, so that it takes none twice.

create table link_receipts (
  daemon_id text not null,
  tag text not null,
  received_at integer not null,
  primary key (daemon_id, tag)
) strict, without rowid;
create index link_receipts_age on link_receipts (received_at);

-- The last entry that was applied from each machine.

create table link_positions (
  daemon_id text primary key,
  last_tag text not null
) strict;
