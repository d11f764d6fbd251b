-- Machines of the network that this daemon knows, each with the card that it trusts.

create table machines (
  daemon_id text primary key,
  -- For people, and for `name@machine`: unique, whatever the case of its letters.
  name text not null collate nocase unique,
  card text not null,
  pinned_at integer not null,
  last_seen integer
) strict;
