/** The daemon's tables. Append only: a migration that has shipped is never edited. */

import { JOBS } from "./jobs_tables.ts";
import { MESSAGES } from "./messages_table.ts";

/**
 * `messages` is the ledger: one row a message and recipient. What is asked carries its answer, and
 * every step of a delivery is a column, so that an ask costs two inserts (architecture 4). What
 * every message passes through has indexes by number or instant alone: a commit writes the pages
 * that it touched, and those of a rising key are few.
 * `ident` is the 12 hex digits that all ids of the row share (`ask-…`, `qd-…`, `notif-…`): its `seq`,
 * permuted by a key of the daemon, so that a row is found by its key, without an index more.
 */
export const migrations: readonly string[] = [
  `
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
  `,
  // What is unproved follows from the instant of its sending: nothing is written to say so.
  `
  drop index messages_watched;
  drop index messages_unproved;
  alter table messages drop column watched;
  alter table messages drop column unproved;
  alter table messages drop column unproved_at;
  create index messages_unsettled on messages (sent_at)
    where state = 'sent' and repeatable = 1 and rung = 'hook';
  create index messages_unproved on messages (to_peer_id, seq)
    where state = 'sent' and repeatable = 0 and named_at is null and rung <> 'websocket';
  `,
  `
  create table idempotency (
    seq integer primary key,
    sender text not null,
    route text not null,
    key text not null,
    body_hash text not null,
    answer text not null,
    created_at integer not null,
    unique (sender, route, key)
  ) strict;
  create index idempotency_created on idempotency (created_at);
  `,
  `
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
  `,
  // Full text by the message's number. It holds no text of its own, and is fed by the heart;
  // word_marks says how far.
  `
  create virtual table message_words using fts5(
    text, reply,
    content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
  );
  create table word_marks (
    one integer primary key check (one = 1),
    seq integer not null,
    event integer not null
  ) strict;
  `,
  // `file` is the name in the directory of attachments: a state directory that moves keeps them.
  `
  create table attachments (
    seq integer primary key,
    id text not null unique,
    filename text not null,
    size integer not null,
    content_type text not null,
    sha256 text not null,
    file text not null,
    created_at integer not null,
    expires_at integer not null
  ) strict;
  create index attachments_expiring on attachments (expires_at);
  `,
  // Surfaces: who they are, what they rendered under which ref, and which items are of one thread.
  `
  alter table inbox_items add column thread text;
  update inbox_items set thread = correlation_id;
  create index inbox_thread on inbox_items (thread, seq) where thread is not null;
  create index inbox_unread on inbox_items (seq) where read_at is null;

  alter table pushes add column delivery_id text;
  alter table pushes add column ref_digits text generated always as
    (case when surface_ref <> '' and surface_ref not glob '*[^0-9]*'
     then ltrim(surface_ref, '0') end) virtual;
  alter table pushes add column ref_length integer generated always as
    (length(ref_digits)) virtual;
  drop index pushes_surface;
  create index pushes_rendered on pushes (surface, ref_length, ref_digits, seq)
    where status = 'pushed';
  create index pushes_open on pushes (surface, item_id) where status <> 'pushed';

  create table push_refs (
    surface text not null,
    ref text not null,
    digits text generated always as
      (case when ref <> '' and ref not glob '*[^0-9]*' then ltrim(ref, '0') end) virtual,
    item_id text not null references inbox_items (item_id) on delete cascade,
    primary key (surface, ref)
  ) strict, without rowid;
  create index push_refs_digits on push_refs (surface, digits) where digits is not null;
  create index push_refs_item on push_refs (item_id);
  insert or replace into push_refs (surface, ref, item_id)
    select surface, json_each.value, item_id from pushes, json_each(surface_refs)
    order by pushes.seq;

  create table surfaces (
    surface text primary key,
    peer_id text not null unique,
    bridge integer not null check (bridge in (0, 1)),
    seen_at integer not null
  ) strict, without rowid;
  `,
  // Whether the reply was the human's own word: a wait is told it as a push is.
  `
  alter table messages add column reply_voice text
    check (reply_voice in ('peer', 'human', 'unverified'));
  `,
  // Who said what a peer's status and turn are, and when: evidence has a source and an age.
  `
  alter table peers add column status_by text;
  alter table peers add column status_at integer;
  alter table peers add column turn_by text;
  `,
  // Spawns wait for their peers, and restarts are journaled, across restarts of the daemon.
  `
  create table spawns (
    seq integer primary key,
    spawn_id text not null unique,
    backend text not null,
    profile text,
    path text not null,
    circle text not null,
    role text not null check (role in ('agent', 'orchestrator')),
    name text,
    tmux_socket text not null,
    tmux_session text not null,
    pane_id text not null,
    registration_state text not null
      check (registration_state in ('awaiting', 'registered', 'timed_out')),
    peer_id text,
    seed text,
    seed_from text,
    seed_human integer not null check (seed_human in (0, 1)),
    seed_state text check (seed_state in ('awaiting_registration', 'undeliverable')),
    warnings text not null,
    created_at integer not null,
    settled_at integer
  ) strict;
  create index spawns_open on spawns (created_at) where settled_at is null;
  create index spawns_peer on spawns (peer_id, created_at) where peer_id is not null;

  create table restarts (
    seq integer primary key,
    restart_id text not null unique,
    peer_id text not null,
    state text not null check (state in ('preflight', 'quiesce', 'stop', 'launch', 'register',
      'seed', 'restarted', 'cancelled', 'failed')),
    resume_mode text not null check (resume_mode in ('resumed', 'fresh')),
    would_run text,
    failed text,
    stages text not null,
    tmux_socket text,
    pane_id text,
    old_pid integer,
    old_started text,
    new_pid integer,
    new_started text,
    seed text,
    seed_from text,
    seed_human integer not null check (seed_human in (0, 1)),
    started_at integer not null,
    finished_at integer
  ) strict;
  create index restarts_peer on restarts (peer_id, seq);
  create index restarts_open on restarts (seq) where finished_at is null;
  `,
  // Messages for later. What is due is found by the heart, what is done is forgotten in time.
  `
  create table schedules (
    seq integer primary key,
    schedule_id text not null unique,
    from_peer text not null,
    from_peer_id text,
    from_peer_name text not null,
    to_peer text not null,
    text text not null,
    kind text not null check (kind in ('notify', 'ask')),
    fire_at integer,
    cron text,
    timezone text,
    circle text,
    state text not null check (state in ('active', 'fired', 'failed', 'cancelled')),
    next_fire_at integer,
    last_fired_at integer,
    last_outcome text check (last_outcome in ('fired', 'failed')),
    last_error text,
    last_message_id text,
    proven_human integer not null check (proven_human in (0, 1)),
    traceparent text,
    created_at integer not null,
    settled_at integer,
    check ((fire_at is null) <> (cron is null)),
    check ((state = 'active') = (next_fire_at is not null)),
    check ((state = 'active') = (settled_at is null))
  ) strict;
  create index schedules_due on schedules (next_fire_at) where state = 'active';
  create index schedules_settled on schedules (settled_at) where settled_at is not null;
  `,
  // Jobs, their attempts, and the templates that recurring ones come of.
  JOBS,
  // What may stand in a column of the ledger is said in a way that costs less to check.
  MESSAGES,
  // Whether the kernel has shown that a peer's process is its own; and browsers on our pages.
  `
  alter table peers add column agent_proved integer not null default 0
    check (agent_proved in (0, 1));
  update peers set agent_proved = 1 where agent_pid is not null;
  create table page_sessions (
    digest text primary key,
    human integer not null check (human in (0, 1)),
    created_at integer not null,
    expires_at integer not null
  ) strict, without rowid;
  `,
];
