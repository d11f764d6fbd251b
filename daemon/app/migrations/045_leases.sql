-- What one process has for itself until it ends: a port, or another resource that has one holder.

create table leases (
  lease_id text primary key,
  resource text not null,
  name text,
  port integer unique,
  peer_id text,
  -- The start or restart of an agent that the lease is for, and since when its process is awaited.
  start_id text,
  starting_at integer,
  pid integer,
  process_started text,
  taken_at integer not null
) strict, without rowid;

-- A port is one of many, so that two processes may each have their own of the same name.

create unique index leases_of_one on leases (resource, coalesce(name, '')) where port is null;
