-- Budgets: limits on what an ask, a job, a peer or a day uses, with what was used. A limit is null
-- for a unit without one; `grants` says how often the limits were allowed.

create table budgets (
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

create index budgets_subject on budgets (subject, day);
create index budgets_spent on budgets (state) where state = 'spent';
create unique index budgets_question on budgets (question_id) where question_id is not null;

-- The part of each peer.

create table budget_uses (
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

-- The budget that a message, job, schedule or start of an agent counts to, by its id, and the one
-- that a peer works under, by the peer's id.

create table budget_members (
  subject text primary key,
  budget_id text not null,
  at integer not null,
  -- The peer that an open ask has reached.
  owed_by text
) strict, without rowid;

create index budget_members_budget on budget_members (budget_id);
create index budget_members_owed on budget_members (owed_by, at) where owed_by is not null;

-- The budget under which an agent began to work; '' is none.

alter table usage_work add column budget_id text not null default '';
