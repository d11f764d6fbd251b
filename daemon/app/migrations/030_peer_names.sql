-- The names of live peers, with all that decides whether a name is free: thousands of peers may
-- share a folder, and no row of theirs is read for the name of the next one.

create index peers_live_names on peers (name, circle, role, status, dropped_at, peer_id)
  where status in ('online', 'busy') and dropped_at is null;

-- An ask to `@tag` reads the peers that have tags, and no others.
create index peers_tagged on peers (peer_id) where tags <> '[]';
