-- The daemon's tables after 50 migration(s).

CREATE TABLE ask_parents (
  seq integer primary key,
  parent_id text not null unique,
  children text not null,
  created_at integer not null,
  due_at integer
) strict;

CREATE INDEX ask_parents_due on ask_parents (due_at) where due_at is not null;

CREATE TABLE attachments (
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

CREATE INDEX attachments_expiring on attachments (expires_at);

CREATE TABLE briefings (
  peer_id text primary key,
  cause text not null,
  given_at integer,
  requested integer not null default 0 check (requested in (0, 1)),
  ask_ids text not null default '[]'
) strict;

CREATE TABLE budget_members (
  subject text primary key,
  budget_id text not null,
  at integer not null,
  -- The peer that an open ask has reached.
  owed_by text
) strict, without rowid;

CREATE INDEX budget_members_budget on budget_members (budget_id);

CREATE INDEX budget_members_owed on budget_members (owed_by, at) where owed_by is not null;

CREATE TABLE budget_uses (
  budget_id text not null,
  peer_id text not null,
  name text not null,
  tokens integer not null,
  turns integer not null,
  ms integer not null,
  cost real not null,
  told_at integer,
  primary key (budget_id, peer_id)
) strict, without rowid;

CREATE TABLE budgets (
  seq integer primary key,
  budget_id text not null unique,
  scope text not null,
  subject text not null,
  day text,
  parent_id text,
  from_peer_id text,
  from_name text not null,
  tokens_max integer,
  turns_max integer,
  ms_max integer,
  cost_max real,
  currency text,
  grants integer not null,
  tokens integer not null,
  turns integer not null,
  ms integer not null,
  cost real not null,
  unpriced_tokens integer not null,
  state text not null check (state in ('open', 'spent', 'stopped')),
  question_id text,
  created_at integer not null,
  used_at integer not null,
  warned_at integer,
  spent_at integer
) strict;

CREATE UNIQUE INDEX budgets_question on budgets (question_id) where question_id is not null;

CREATE INDEX budgets_spent on budgets (state) where state = 'spent';

CREATE INDEX budgets_subject on budgets (subject, day);

CREATE TABLE chain_members (
  subject text primary key,
  chain text not null,
  used_at integer not null
) strict, without rowid;

CREATE INDEX chain_members_used on chain_members (used_at);

CREATE TABLE chosen_ids (
  correlation_id text primary key,
  seq integer not null references messages (seq) on delete cascade
) strict, without rowid;

CREATE INDEX chosen_ids_seq on chosen_ids (seq);

CREATE TABLE events (
  id integer primary key autoincrement,
  at integer not null,
  type text not null,
  data text not null
) strict;

CREATE TABLE file_overlaps (
  repository text not null,
  path text not null,
  first_peer_id text not null,
  second_peer_id text not null,
  told_at integer not null,
  primary key (repository, path, first_peer_id, second_peer_id)
) strict, without rowid;

CREATE TABLE file_readings (
  peer_id text not null,
  session_id text not null,
  position integer not null,
  primary key (peer_id, session_id)
) strict, without rowid;

CREATE TABLE file_uses (
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

CREATE INDEX file_uses_old on file_uses (last_at);

CREATE TABLE held_asks (correlation_id text primary key, at_terminal integer not null default 0) strict, without rowid;

CREATE TABLE idempotency (
  seq integer primary key,
  sender text not null,
  route text not null,
  key text not null,
  body_hash text not null,
  answer text not null,
  created_at integer not null,
  unique (sender, route, key)
) strict;

CREATE INDEX idempotency_created on idempotency (created_at);

CREATE INDEX inbox_correlation on inbox_items (correlation_id) where correlation_id is not null;

CREATE TABLE inbox_items (
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
, thread text, voice text check (voice in ('peer', 'human', 'unverified')), snoozed_until integer) strict;

CREATE INDEX inbox_thread on inbox_items (thread, seq) where thread is not null;

CREATE INDEX inbox_unread on inbox_items (seq) where read_at is null;

CREATE TABLE job_attempts (
  seq integer primary key,
  attempt_id text not null unique,
  job_id text not null references jobs (job_id) on delete cascade,
  number integer not null,
  state text not null check (state in ('acquired', 'delivered', 'running', 'lapsed',
    'superseded', 'completed', 'failed', 'cancelled')),
  executor text not null check (executor in ('assigned', 'reused', 'resumed', 'spawned')),
  executor_peer_id text,
  spawn_id text,
  delivery_id text,
  started_at integer not null,
  delivered_at integer,
  armed_at integer,
  ended_at integer,
  reason text,
  release text check (release in ('due', 'done')),
  unique (job_id, number)
) strict;

CREATE INDEX job_attempts_delivery on job_attempts (delivery_id) where ended_at is null;

CREATE INDEX job_attempts_executor on job_attempts (executor_peer_id) where ended_at is null;

CREATE INDEX job_attempts_message on job_attempts (delivery_id) where delivery_id is not null;

CREATE UNIQUE INDEX job_attempts_open on job_attempts (job_id) where ended_at is null;

CREATE INDEX job_attempts_release on job_attempts (seq) where release = 'due';

CREATE INDEX job_attempts_spawn on job_attempts (spawn_id) where ended_at is null;

CREATE TABLE job_templates (
  seq integer primary key,
  calendar_id text not null unique,
  title text not null,
  kind text not null,
  state text not null check (state in ('active', 'paused', 'cancelled')),
  cron text not null,
  timezone text not null,
  next_due_at integer,
  last_due_at integer,
  last_occurrence_work_id text,
  occurrences integer not null,
  owner_peer_id text,
  created_by_peer_id text,
  mesh_session_id text,
  circle text not null,
  scope text not null,
  visibility text not null,
  request text,
  provenance text not null,
  execution text not null,
  created_at integer not null,
  updated_at integer not null,
  proven_human integer not null check (proven_human in (0, 1))
, unverified integer not null default 0
  check (unverified in (0, 1))) strict;

CREATE INDEX job_templates_due on job_templates (next_due_at) where state = 'active';

CREATE TABLE jobs (
  seq integer primary key autoincrement,
  job_id text not null unique,
  title text not null,
  kind text not null,
  state text not null check (state in ('queued', 'dispatching', 'delivered', 'running',
    'awaiting_input', 'blocked', 'completed', 'failed', 'cancelled', 'expired', 'unavailable')),
  state_reason text,
  phase text,
  progress real,
  progress_events text not null,
  owner_peer_id text,
  assigned_peer_id text,
  created_by_peer_id text,
  mesh_session_id text,
  correlation_id text,
  circle text not null,
  source_kind text not null check (source_kind in ('request', 'calendar')),
  source_id text,
  scope text not null,
  visibility text not null,
  request text,
  provenance text not null,
  execution text not null,
  attempt_count integer not null,
  current_attempt_id text,
  lease_until integer,
  created_at integer not null,
  updated_at integer not null,
  due_at integer,
  deadline_at integer,
  expires_at integer,
  result_summary text,
  result_data text,
  error text,
  artifacts text not null,
  cancel_requested integer not null check (cancel_requested in (0, 1)),
  cancel_requested_at integer,
  cancellation_reason text,
  look_at integer,
  proven_human integer not null check (proven_human in (0, 1)),
  deadline_told integer not null check (deadline_told in (0, 1)),
  settled_at integer generated always as
    (iif(state in ('completed', 'failed', 'cancelled', 'expired', 'unavailable'),
         updated_at, null)) virtual
, unverified integer not null default 0 check (unverified in (0, 1))) strict;

CREATE INDEX jobs_checking on jobs (seq) where phase = 'checking';

CREATE INDEX jobs_dispatching on jobs (lease_until) where state = 'dispatching';

CREATE INDEX jobs_expiring on jobs (expires_at)
  where state in ('queued', 'dispatching') and expires_at is not null;

CREATE INDEX jobs_late on jobs (deadline_at) where deadline_told = 0 and deadline_at is not null;

CREATE INDEX jobs_queued on jobs (look_at) where state = 'queued';

CREATE INDEX jobs_settled on jobs (settled_at) where settled_at is not null;

CREATE INDEX jobs_source on jobs (source_id) where source_id is not null;

CREATE INDEX jobs_state on jobs (state);

CREATE INDEX jobs_waiting on jobs (assigned_peer_id)
  where state = 'queued' and look_at is null;

CREATE TABLE joint_reports (
  report_id text primary key,
  repository text not null,
  first_peer_id text not null,
  second_peer_id text not null,
  check_name text not null,
  state text not null check (state in ('asked', 'with_human', 'settled')),
  tree text not null,
  correlation_id text,
  created_at integer not null,
  updated_at integer not null
) strict;

CREATE UNIQUE INDEX joint_reports_open on joint_reports (first_peer_id, second_peer_id)
  where state <> 'settled';

CREATE TABLE leases (
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
, of_agent integer not null default 1) strict, without rowid;

CREATE UNIQUE INDEX leases_of_one on leases (resource, coalesce(name, '')) where port is null;

CREATE TABLE limited_turns (
  peer_id text primary key,
  account_id text not null,
  at integer not null,
  -- True if the agent goes on by itself at the reset.
  continues integer not null check (continues in (0, 1))
) strict, without rowid;

CREATE TABLE limits (
  account_id text primary key,
  backend text,
  account text not null,
  state text not null check (state in ('clear', 'throttled', 'exhausted', 'out_of_credits', 'probing')),
  -- The window that is used up; null if it is unknown.
  window text,
  since integer,
  resets_at integer,
  -- When the account is tried again; null if a person decides.
  due_at integer,
  -- Number of limits in a row, which makes the time to the next try longer.
  tries integer not null,
  source text,
  evidence_at integer,
  evidence_peer_id text,
  text text,
  -- The probe: the peer whose turn shows if the limit is over, and the message that began it.
  probe_peer_id text,
  probe_id text,
  probe_at integer,
  -- A person has been offered another vendor, or asked if the account may go on.
  offered integer not null check (offered in (0, 1)),
  asked integer not null check (asked in (0, 1)),
  changed_at integer not null
) strict, without rowid;

CREATE TABLE link_entries (
  entry_id integer primary key autoincrement,
  daemon_id text not null,
  tag text not null,
  kind text not null,
  body text not null,
  created_at integer not null
) strict;

CREATE INDEX link_entries_machine on link_entries (daemon_id, entry_id);

CREATE INDEX link_entries_refused on link_entries (daemon_id, entry_id) where kind = 'refused';

CREATE UNIQUE INDEX link_entries_tag on link_entries (daemon_id, tag);

CREATE TABLE "link_positions" (
  daemon_id text primary key,
  last_tag text,
  confirmed_tag text
, confirmed_at integer, lost_at integer, sent_again integer) strict;

CREATE TABLE link_receipts (
  daemon_id text not null,
  tag text not null,
  received_at integer not null, refused text,
  primary key (daemon_id, tag)
) strict, without rowid;

CREATE INDEX link_receipts_age on link_receipts (received_at);

CREATE INDEX link_receipts_refused on link_receipts (daemon_id, received_at)
  where refused is not null;

CREATE TABLE machine_files_received (
  daemon_id text not null,
  object text not null,
  attachment text,
  reason text,
  attempts integer not null,
  expires_at integer not null,
  primary key (daemon_id, object)
) strict, without rowid;

CREATE INDEX machine_files_received_expiring on machine_files_received (expires_at);

CREATE TABLE machine_files_sent (
  object text primary key,
  daemon_id text not null,
  attachment text not null,
  uses integer not null,
  attempts integer not null,
  ready_at integer,
  reason text,
  described_at integer not null,
  expires_at integer not null
) strict, without rowid;

CREATE INDEX machine_files_sent_expiring on machine_files_sent (expires_at);

CREATE INDEX machine_files_sent_released on machine_files_sent (object) where uses = 0;

CREATE INDEX machine_files_sent_reused on machine_files_sent (daemon_id, attachment, described_at);

CREATE TABLE machines (
  daemon_id text primary key,
  -- For people, and for `name@machine`: unique, whatever the case of its letters.
  name text not null collate nocase unique,
  card text not null,
  pinned_at integer not null,
  last_seen integer
) strict;

CREATE VIRTUAL TABLE message_words using fts5(
  text, reply, ends,
  content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co So'"
);

CREATE TABLE 'message_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'message_words_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'message_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'message_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE "messages" (
  seq integer primary key autoincrement,
  ident text not null,
  kind text not null check (kind = 'ask' or kind = 'notify' or kind = 'broadcast'
    or kind = 'ack' or kind = 'inbox_item'),
  correlation_id text,
  item_id text,
  from_peer_id text,
  from_peer_name text not null,
  to_peer_id text not null,
  to_peer_name text not null,
  circle text,
  text text not null,
  attachments text not null,
  voice text not null check (voice = 'peer' or voice = 'human' or voice = 'unverified'),
  reply_to text,
  parent_id text,
  question text,
  origin text,
  routing text,
  traceparent text not null,

  state text not null check (state = 'attempting' or state = 'sent' or state = 'queued'
    or state = 'accepted' or state = 'seen' or state = 'failed' or state = 'expired'
    or state = 'dropped'),
  rung text,
  repeatable integer not null default 0 check (repeatable = 0 or repeatable = 1),
  attempts integer not null default 0,
  created_at integer not null,
  attempted_at integer,
  sent_at integer,
  accepted_at integer,
  seen_at integer,
  named_at integer,
  expires_at integer,
  settled_at integer,
  reason text,

  ask_state text check (ask_state = 'open' or ask_state = 'closed'),
  reply_delivery text check (reply_delivery = 'push' or reply_delivery = 'pull'),
  close_reason text,
  outcome text,
  reply text,
  reply_voice text check (reply_voice = 'peer' or reply_voice = 'human'
    or reply_voice = 'unverified'),
  reply_attachments text,
  answer text,
  responder text,
  closed_at integer,

  under_way integer generated always as
    (state = 'attempting' or (state = 'sent' and repeatable)) virtual
, urgent integer not null default 0 check (urgent in (0, 1)), sent_by text, proof text, chain text, outside integer not null default 0) strict;

CREATE INDEX messages_closed on messages (closed_at) where closed_at is not null;

CREATE INDEX messages_expiring on messages (expires_at)
  where expires_at > 0 and state = 'queued';

CREATE INDEX messages_open on messages (created_at, seq, to_peer_id)
  where ask_state = 'open';

CREATE INDEX messages_outside on messages (to_peer_id, seq)
  where outside = 1 and ask_state = 'open';

CREATE INDEX messages_queued on messages (to_peer_id, seq, kind) where state = 'queued';

CREATE INDEX messages_reply_to on messages (reply_to) where reply_to is not null;

CREATE INDEX messages_under_way on messages (seq, to_peer_id, kind)
  where under_way = 1;

CREATE INDEX messages_unproved on messages (to_peer_id, seq)
  where state = 'sent' and repeatable = 0 and named_at is null and rung <> 'websocket';

CREATE INDEX messages_unsettled on messages (sent_at)
  where state = 'sent' and repeatable = 1 and rung = 'hook';

CREATE INDEX messages_urgent on messages (to_peer_id, seq) where urgent = 1 and state = 'queued';

CREATE TABLE meta (key text primary key, value text not null) strict, without rowid;

CREATE TABLE number_gaps (
  series text not null check (series in ('messages', 'events')),
  last integer not null,
  next integer not null,
  primary key (series, last)
) strict, without rowid;

CREATE TABLE page_sessions (
  digest text primary key,
  human integer not null check (human in (0, 1)),
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;

CREATE TABLE paired_devices (
  device_id text primary key,
  digest text not null unique,
  name text not null,
  user_agent text,
  via text not null check (via in ('daemon', 'relay')),
  created_at integer not null,
  used_at integer not null,
  expires_at integer not null
) strict, without rowid;

CREATE TABLE peers (
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
, status_by text, status_at integer, turn_by text, agent_proved integer not null default 0
  check (agent_proved in (0, 1)), client_key text, certified integer not null default 1 check (certified in (0, 1)), tags text not null default '[]' check (json_valid(tags)), reminders integer check (reminders in (0, 1)), queue_max integer check (queue_max > 0), pair_per_minute integer check (pair_per_minute >= 0), hook_messages integer not null default 1
  check (hook_messages in (0, 1)), claimed_pane_id text, session_proved integer not null default 0, id_proof text, wake_policy text check (wake_policy in ('never', 'ask', 'always'))) strict;

CREATE INDEX peers_by_claimed_pane on peers (claimed_pane_id) where claimed_pane_id is not null;

CREATE INDEX peers_circle on peers (circle);

CREATE INDEX peers_client on peers (client_key) where client_key is not null;

CREATE INDEX peers_human on peers (peer_id) where role = 'human';

CREATE INDEX peers_live on peers (peer_id)
  where status in ('online', 'busy') and dropped_at is null;

CREATE INDEX peers_live_names on peers (name, circle, role, status, dropped_at, peer_id)
  where status in ('online', 'busy') and dropped_at is null;

CREATE INDEX peers_name on peers (name);

CREATE INDEX peers_pane on peers (pane_id) where pane_id is not null;

CREATE INDEX peers_parent on peers (parent_runtime_id) where parent_runtime_id is not null;

CREATE INDEX peers_process on peers (agent_pid) where agent_pid is not null;

CREATE INDEX peers_session on peers (runtime_session_id) where runtime_session_id is not null;

CREATE INDEX peers_tagged on peers (peer_id) where tags <> '[]';

CREATE TABLE proofs (
  seq integer primary key,
  correlation_id text not null unique,
  to_peer_id text not null,
  state text not null check (state in
    ('awaiting', 'proving', 'returned', 'verified', 'refuted', 'unproved', 'withdrawn')),
  checks text not null,
  claims text not null,
  folder text,
  -- Hashes of the files that define the checks, by check, at the time of the ask.
  files text,
  answer text,
  answers integer not null,
  -- Starts of the checks of the present answer: more than one if the daemon ended during them.
  runs integer not null,
  reason text,
  results text not null,
  created_at integer not null,
  answered_at integer,
  ended_at integer
, machine text) strict;

CREATE INDEX proofs_ended on proofs (ended_at) where ended_at is not null;

CREATE INDEX proofs_open on proofs (state) where state in ('awaiting', 'proving', 'returned');

CREATE INDEX proofs_peer on proofs (to_peer_id, state);

CREATE TABLE push_messages (
  seq integer primary key,
  push_id text not null unique,
  subscription_id text not null
    references push_subscriptions (subscription_id) on delete cascade,
  item_id text references inbox_items (item_id) on delete cascade,
  delivery_id text,
  kind text not null check (kind in ('item', 'close', 'test')),
  state text not null check (state in (
    'queued', 'sending', 'taken', 'shown', 'opened', 'dismissed', 'failed', 'dropped'
  )),
  reason text,
  attempts integer not null,
  due_at integer not null,
  expires_at integer not null,
  created_at integer not null,
  changed_at integer not null
) strict;

CREATE INDEX push_messages_item on push_messages (item_id) where item_id is not null;

CREATE INDEX push_messages_open on push_messages (due_at) where state in ('queued', 'sending');

CREATE INDEX push_messages_subscription on push_messages (subscription_id, seq);

CREATE TABLE push_refs (
  surface text not null,
  ref text not null,
  digits text generated always as
    (case when ref <> '' and ref not glob '*[^0-9]*' then ltrim(ref, '0') end) virtual,
  item_id text not null references inbox_items (item_id) on delete cascade,
  primary key (surface, ref)
) strict, without rowid;

CREATE INDEX push_refs_digits on push_refs (surface, digits) where digits is not null;

CREATE INDEX push_refs_item on push_refs (item_id);

CREATE TABLE push_subscriptions (
  subscription_id text primary key,
  device_id text references paired_devices (device_id) on delete cascade,
  endpoint text not null,
  p256dh text not null,
  auth text not null,
  name text not null,
  user_agent text,
  account text,
  via text not null check (via in ('daemon', 'relay')),
  questions integer not null check (questions in (0, 1)),
  approvals integer not null check (approvals in (0, 1)),
  done integer not null check (done in (0, 1)),
  created_at integer not null,
  used_at integer,
  ended_at integer,
  end_reason text
) strict, without rowid;

CREATE INDEX push_subscriptions_device on push_subscriptions (device_id)
  where device_id is not null;

CREATE UNIQUE INDEX push_subscriptions_endpoint on push_subscriptions (endpoint)
  where ended_at is null;

CREATE TABLE pushes (
  seq integer primary key,
  item_id text not null references inbox_items (item_id) on delete cascade,
  surface text not null,
  status text not null check (status in ('pending', 'pushed', 'failed')),
  surface_ref text,
  surface_refs text not null,
  verified integer not null check (verified in (0, 1)),
  error_class text,
  at integer not null, delivery_id text, ref_digits text generated always as
  (case when surface_ref <> '' and surface_ref not glob '*[^0-9]*'
   then ltrim(surface_ref, '0') end) virtual, ref_length integer generated always as
  (length(ref_digits)) virtual,
  unique (item_id, surface)
) strict;

CREATE INDEX pushes_open on pushes (surface, item_id) where status <> 'pushed';

CREATE INDEX pushes_rendered on pushes (surface, ref_length, ref_digits, seq)
  where status = 'pushed';

CREATE TABLE remote_messages (
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
, digest text) strict;

CREATE INDEX remote_messages_ask on remote_messages (daemon_id, sent, correlation_id)
  where correlation_id is not null;

CREATE UNIQUE INDEX remote_messages_delivery on remote_messages (daemon_id, sent, delivery_id);

CREATE TABLE remote_peers (
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
, id_proof text) strict;

CREATE INDEX remote_peers_circle on remote_peers (circle);

CREATE INDEX remote_peers_daemon on remote_peers (daemon_id);

CREATE INDEX remote_peers_name on remote_peers (name);

CREATE TABLE reported_commits (
  repository text not null,
  prefix text not null,
  peer_id text not null,
  message_id text,
  at integer not null, session_id text,
  primary key (repository, prefix, peer_id)
) strict, without rowid;

CREATE INDEX reported_commits_old on reported_commits (at);

CREATE TABLE restarts (
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
, from_backend text, from_session text, to_backend text, seed_attachments text not null default '[]'
  check (json_valid(seed_attachments)), seed_unverified integer not null default 0
  check (seed_unverified in (0, 1))) strict;

CREATE INDEX restarts_open on restarts (seq) where finished_at is null;

CREATE INDEX restarts_peer on restarts (peer_id, seq);

CREATE TABLE review_comments (
  comment_id text primary key,
  review_id text not null,
  file text not null,
  side text not null check (side in ('new', 'old')),
  line integer not null,
  line_text text not null,
  blob text,
  text text not null,
  correlation_id text not null,
  at integer not null
) strict, without rowid;

CREATE INDEX review_comments_ask on review_comments (correlation_id);

CREATE INDEX review_comments_of on review_comments (review_id, at);

CREATE TABLE reviews (
  review_id text primary key,
  folder text not null unique,
  summary text,
  read_at integer,
  task_id text,
  placed text check (placed in ('in', 'out')),
  decision text check (decision in ('accepted', 'sent_back')),
  decided_at integer,
  decided_by text,
  decision_digest text,
  correlation_id text
) strict, without rowid;

CREATE TABLE schedules (
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
  settled_at integer, circle_given integer not null default 1
  check (circle_given in (0, 1)), unverified integer not null default 0
  check (unverified in (0, 1)), digest integer not null default 0 check (digest in (0, 1)),
  check ((fire_at is null) <> (cron is null)),
  check ((state = 'active') = (next_fire_at is not null)),
  check ((state = 'active') = (settled_at is null))
) strict;

CREATE INDEX schedules_due on schedules (next_fire_at) where state = 'active';

CREATE INDEX schedules_settled on schedules (settled_at) where settled_at is not null;

CREATE TABLE spawns (
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
, pane_pid integer, resumed_session text, resumed_peer_id text, seed_unverified integer not null default 0
  check (seed_unverified in (0, 1))) strict;

CREATE INDEX spawns_open on spawns (created_at) where settled_at is null;

CREATE INDEX spawns_peer on spawns (peer_id, created_at) where peer_id is not null;

CREATE TABLE stages (
  seq integer primary key,
  ident text not null,
  stage text not null,
  status text not null check (status in ('ok', 'fail')),
  ts integer not null,
  detail text
) strict;

CREATE INDEX stages_ident on stages (ident);

CREATE TABLE subscriptions (
  seq integer primary key,
  subscription_id text not null unique,
  from_peer text not null,
  from_peer_id text,
  from_peer_name text not null,
  condition text not null,
  kind text not null check (kind in ('peer', 'job', 'ask', 'file')),
  subject_id text not null,
  expected text not null,
  glob text,
  folder text,
  to_peer text,
  text text,
  circle text,
  circle_given integer not null check (circle_given in (0, 1)),
  proven_human integer not null check (proven_human in (0, 1)),
  until integer,
  state text not null check (state in ('active', 'fired', 'failed', 'expired', 'cancelled')),
  holds integer not null check (holds in (0, 1)),
  pending integer not null check (pending >= 0),
  pending_proof text,
  due_at integer,
  fires integer not null,
  last_fired_at integer,
  last_outcome text check (last_outcome in ('fired', 'failed')),
  last_error text,
  last_proof text,
  last_message_id text,
  files_since integer,
  scan_at integer,
  created_at integer not null,
  settled_at integer, unverified integer not null default 0
  check (unverified in (0, 1)),
  check ((state = 'active') = (settled_at is null)),
  check ((pending > 0) = (due_at is not null)),
  check ((kind = 'file') = (glob is not null and folder is not null))
) strict;

CREATE INDEX subscriptions_active on subscriptions (seq) where state = 'active';

CREATE INDEX subscriptions_due on subscriptions (due_at) where state = 'active';

CREATE INDEX subscriptions_scan on subscriptions (scan_at) where state = 'active';

CREATE INDEX subscriptions_settled on subscriptions (settled_at) where settled_at is not null;

CREATE INDEX subscriptions_subject on subscriptions (subject_id) where state = 'active';

CREATE INDEX subscriptions_subscriber on subscriptions (from_peer_id) where state = 'active';

CREATE INDEX subscriptions_until on subscriptions (until) where state = 'active';

CREATE TABLE surfaces (
  surface text primary key,
  peer_id text not null unique,
  bridge integer not null check (bridge in (0, 1)),
  seen_at integer not null
) strict, without rowid;

CREATE TABLE usage_days (
  day text not null,
  peer_id text not null,
  backend text not null,
  session_id text not null,
  model text not null,
  chain text not null,
  job_id text not null,
  requests integer not null,
  input_tokens integer,
  cached_input_read_tokens integer,
  cached_input_write_tokens integer,
  output_tokens integer,
  reasoning_tokens integer,
  primary key (day, peer_id, backend, session_id, model, chain, job_id)
) strict, without rowid;

CREATE TABLE usage_files (
  file text not null,
  session_id text not null,
  peer_id text not null,
  position integer not null,
  before integer not null,
  state text not null,
  recent text not null,
  read_at integer not null,
  primary key (file, session_id)
) strict, without rowid;

CREATE TABLE usage_requests (key integer primary key, day text not null) strict;

CREATE TABLE usage_work (
  peer_id text not null,
  at integer not null,
  chain text not null,
  job_id text not null, budget_id text not null default '',
  primary key (peer_id, at)
) strict, without rowid;

CREATE TABLE wakes (
  seq integer primary key,
  wake_id text not null unique,
  peer_id text not null,
  backend text not null,
  session_id text not null,
  state text not null check (state in ('checking', 'asking', 'starting', 'launched', 'awake',
    'resting', 'asleep', 'refused', 'failed', 'over')),
  allowed_by text check (allowed_by in ('policy', 'answer', 'person')),
  cause text,
  question_id text,
  spawn_id text,
  reason text,
  detail text,
  created_at integer not null,
  changed_at integer not null,
  ended_at integer
) strict;

CREATE UNIQUE INDEX wakes_open on wakes (peer_id) where ended_at is null;

CREATE INDEX wakes_peer on wakes (peer_id, seq);

CREATE INDEX wakes_question on wakes (question_id) where question_id is not null;

CREATE UNIQUE INDEX wakes_session on wakes (backend, session_id) where ended_at is null;

CREATE TABLE word_marks (
  one integer primary key check (one = 1),
  seq integer not null,
  event integer not null
) strict;
