-- The table `messages` with cheaper checks: for each list of three or more values SQLite fills a table
-- of its own, for every row, which was half the time of an insert. The old table takes the chosen
-- ids and its last number with it: both are carried over.

create table messages_next (
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
) strict;
insert into messages_next (seq, ident, kind, correlation_id, item_id, from_peer_id, from_peer_name,
to_peer_id, to_peer_name, circle, text, attachments, voice, reply_to, parent_id, question, origin,
routing, traceparent, state, rung, repeatable, attempts, created_at, attempted_at, sent_at,
accepted_at, seen_at, named_at, expires_at, settled_at, reason, ask_state, reply_delivery,
close_reason, outcome, reply, reply_voice, reply_attachments, answer, responder, closed_at) select seq, ident, kind, correlation_id, item_id, from_peer_id, from_peer_name,
to_peer_id, to_peer_name, circle, text, attachments, voice, reply_to, parent_id, question, origin,
routing, traceparent, state, rung, repeatable, attempts, created_at, attempted_at, sent_at,
accepted_at, seen_at, named_at, expires_at, settled_at, reason, ask_state, reply_delivery,
close_reason, outcome, reply, reply_voice, reply_attachments, answer, responder, closed_at from messages;
delete from sqlite_sequence where name = 'messages_next';
insert into sqlite_sequence (name, seq)
  select 'messages_next', seq from sqlite_sequence where name = 'messages';
create temp table chosen_before as select correlation_id, seq from chosen_ids;
drop table messages;
alter table messages_next rename to messages;
insert into chosen_ids (correlation_id, seq) select correlation_id, seq from chosen_before;
drop table chosen_before;

create index messages_open on messages (created_at, seq, to_peer_id)
  where ask_state = 'open';
create index messages_queued on messages (to_peer_id, seq, kind) where state = 'queued';
create index messages_under_way on messages (seq, to_peer_id, kind)
  where under_way = 1;
create index messages_expiring on messages (expires_at)
  where expires_at > 0 and state = 'queued';
create index messages_closed on messages (closed_at) where closed_at is not null;
create index messages_unsettled on messages (sent_at)
  where state = 'sent' and repeatable = 1 and rung = 'hook';
create index messages_unproved on messages (to_peer_id, seq)
  where state = 'sent' and repeatable = 0 and named_at is null and rung <> 'websocket';
