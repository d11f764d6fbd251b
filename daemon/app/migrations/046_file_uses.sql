-- Which agent read and wrote which file, as the agents' session files have it. `repository` is the
-- folder that all work trees of a repository share, and '' outside of one.

create table file_uses (
  repository text not null,
  path text not null,
  peer_id text not null,
  root text not null,
  wrote integer not null,
  first_at integer not null,
  last_at integer not null,
  times integer not null,
  primary key (repository, path, peer_id, root, wrote)
) strict, without rowid;

create index file_uses_old on file_uses (last_at);

-- How far each session was read.

create table file_readings (
  peer_id text not null,
  session_id text not null,
  position integer not null,
  primary key (peer_id, session_id)
) strict, without rowid;

-- The pairs of agents that were told of a file that both write.

create table file_overlaps (
  repository text not null,
  path text not null,
  first_peer_id text not null,
  second_peer_id text not null,
  told_at integer not null,
  primary key (repository, path, first_peer_id, second_peer_id)
) strict, without rowid;
