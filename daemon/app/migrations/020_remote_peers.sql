-- Peers on other machines, as those machines announced them. The human of a machine is one of them.

create table remote_peers (
  peer_id text primary key,
  daemon_id text not null,
  machine text not null,
  name text not null,
  circle text not null,
  backend text,
  model text,
  role text not null,
  status text not null check (status in ('online', 'busy', 'offline')),
  turn_state text,
  description text,
  path text,
  last_seen integer,
  seen_at integer not null,
  registered_at integer not null
) strict;
create index remote_peers_daemon on remote_peers (daemon_id);
create index remote_peers_name on remote_peers (name);
create index remote_peers_circle on remote_peers (circle);
