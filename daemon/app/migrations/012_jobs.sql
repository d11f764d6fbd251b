-- Jobs, their attempts, and the templates of recurring jobs.

create table jobs (
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
) strict;
create index jobs_queued on jobs (look_at) where state = 'queued';
create index jobs_waiting on jobs (assigned_peer_id)
  where state = 'queued' and look_at is null;
create index jobs_dispatching on jobs (lease_until) where state = 'dispatching';
create index jobs_expiring on jobs (expires_at)
  where state in ('queued', 'dispatching') and expires_at is not null;
create index jobs_late on jobs (deadline_at) where deadline_told = 0 and deadline_at is not null;
create index jobs_checking on jobs (seq) where phase = 'checking';
create index jobs_settled on jobs (settled_at) where settled_at is not null;
create index jobs_source on jobs (source_id) where source_id is not null;

create table job_attempts (
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
create unique index job_attempts_open on job_attempts (job_id) where ended_at is null;
create index job_attempts_executor on job_attempts (executor_peer_id) where ended_at is null;
create index job_attempts_delivery on job_attempts (delivery_id) where ended_at is null;
create index job_attempts_spawn on job_attempts (spawn_id) where ended_at is null;
create index job_attempts_release on job_attempts (seq) where release = 'due';

create table job_templates (
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
) strict;
alter table spawns add column pane_pid integer;
create index job_templates_due on job_templates (next_due_at) where state = 'active';
