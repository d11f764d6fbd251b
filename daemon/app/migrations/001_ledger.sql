-- The ledger, peers and events. `messages` holds one row per message and recipient. An ask holds its
-- answer, and every step of a delivery is a column, so an ask costs two inserts (architecture 4). The
-- indexes over what every message passes through have a number or an instant as their key: a commit
-- writes the pages it touched, and rising keys touch few.
-- `ident` is the 12 hex digits that all ids of a row share (`ask-…`, `qd-…`, `notif-…`): its `seq`,
-- permuted with a key of the daemon, so that a row is found by its key and needs no other index.

create table events (
  id integer primary key autoincrement,
  at integer not null,
  type text not null,
  data text not null
) strict;

create table meta (key text primary key, value text not null) strict, without rowid;

create table peers (
  peer_id text primary key,
  name text not null,
  path text,
  machine text,
  tmux_session text,
  tmux_socket text,
  pane_id text,
  backend text,
  model text,
  circle text not null,
  role text not null check (role in ('agent', 'orchestrator', 'service', 'human')),
  status text not null check (status in ('online', 'busy', 'offline', 'retired')),
  turn_state text,
  turn_at integer,
  last_seen integer,
  description text,
  described_at integer,
  metadata text not null,
  agent_pid integer,
  agent_started text,
  runtime_session_id text,
  mesh_session_id text,
  source text not null,
  initiator text,
  parent_runtime_id text,
  ephemeral integer not null check (ephemeral in (0, 1)),
  addressable integer not null check (addressable in (0, 1)),
  addressable_reason text,
  offline_reason text,
  last_delivery_at integer,
  last_delivery_failure_at integer,
  registered_at integer not null,
  dropped_at integer,
  closed integer not null default 0 check (closed in (0, 1))
) strict;
create index peers_name on peers (name);
create index peers_session on peers (runtime_session_id) where runtime_session_id is not null;

create table messages (
  seq integer primary key autoincrement,
  ident text not null,
  kind text not null check (kind in ('ask', 'notify', 'broadcast', 'ack', 'inbox_item')),
  correlation_id text,
  item_id text,
  from_peer_id text,
  from_peer_name text not null,
  to_peer_id text not null,
  to_peer_name text not null,
  circle text,
  text text not null,
  attachments text not null,
  voice text not null check (voice in ('peer', 'human', 'unverified')),
  reply_to text,
  parent_id text,
  question text,
  origin text,
  routing text,
  traceparent text not null,

  state text not null check (state in
    ('queued', 'attempting', 'sent', 'accepted', 'seen', 'failed', 'expired', 'dropped')),
  rung text,
  repeatable integer not null default 0 check (repeatable in (0, 1)),
  attempts integer not null default 0,
  created_at integer not null,
  attempted_at integer,
  sent_at integer,
  accepted_at integer,
  seen_at integer,
  unproved_at integer,
  named_at integer,
  expires_at integer,
  settled_at integer,
  reason text,

  ask_state text check (ask_state in ('open', 'closed')),
  reply_delivery text check (reply_delivery in ('push', 'pull')),
  close_reason text,
  outcome text,
  reply text,
  reply_attachments text,
  answer text,
  responder text,
  closed_at integer,

  under_way integer generated always as
    (state = 'attempting' or (state = 'sent' and repeatable)) virtual,
  watched integer generated always as
    (state = 'sent' and unproved_at is null and named_at is null
     and (not repeatable or rung = 'hook')) virtual,
  unproved integer generated always as
    (state = 'sent' and not repeatable and named_at is null and unproved_at > 0) virtual
) strict;
create index messages_open on messages (created_at, seq, to_peer_id)
  where ask_state = 'open';
create index messages_queued on messages (to_peer_id, seq, kind) where state = 'queued';
create index messages_under_way on messages (seq, to_peer_id, kind)
  where under_way = 1;
create index messages_watched on messages (sent_at) where watched = 1;
create index messages_unproved on messages (to_peer_id, seq) where unproved = 1;
create index messages_expiring on messages (expires_at)
  where expires_at > 0 and state = 'queued';
create index messages_closed on messages (closed_at) where closed_at is not null;

create table stages (
  seq integer primary key,
  ident text not null,
  stage text not null,
  status text not null check (status in ('ok', 'fail')),
  ts integer not null,
  detail text
) strict;
create index stages_ident on stages (ident);

create table inbox_items (
  seq integer primary key,
  item_id text not null unique,
  kind text not null check (kind in ('ask', 'notify')),
  from_name text not null,
  from_peer_id text,
  correlation_id text,
  text text not null,
  attachments text not null,
  question text,
  read_at integer,
  read_by text,
  replied_at integer,
  created_at integer not null
) strict;
create index inbox_correlation on inbox_items (correlation_id) where correlation_id is not null;

create table pushes (
  seq integer primary key,
  item_id text not null references inbox_items (item_id) on delete cascade,
  surface text not null,
  status text not null check (status in ('pending', 'pushed', 'failed')),
  surface_ref text,
  surface_refs text not null,
  verified integer not null check (verified in (0, 1)),
  error_class text,
  at integer not null,
  unique (item_id, surface)
) strict;
create index pushes_surface on pushes (surface, item_id);
