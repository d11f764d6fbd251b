-- The chain of each message: what began the work that it belongs to. `outside` marks those that
-- began with an app, a guest or another machine.

alter table messages add column chain text;
alter table messages add column outside integer not null default 0;
create index messages_outside on messages (to_peer_id, seq)
  where outside = 1 and ask_state = 'open';

-- The chains of jobs, schedules, subscriptions, spawns and started peers.

create table chain_members (
  subject text primary key,
  chain text not null,
  used_at integer not null
) strict, without rowid;

create index chain_members_used on chain_members (used_at);

-- The commits that agents' hooks reported, by the beginnings of their ids as git printed them, with
-- the message that the agent had read last.

create table reported_commits (
  repository text not null,
  prefix text not null,
  peer_id text not null,
  message_id text,
  at integer not null,
  primary key (repository, prefix, peer_id)
) strict, without rowid;

create index reported_commits_old on reported_commits (at);
