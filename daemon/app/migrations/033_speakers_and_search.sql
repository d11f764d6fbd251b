-- True if nothing proved that the caller was the peer in whose name these messages are sent later.

alter table schedules add column unverified integer not null default 0
  check (unverified in (0, 1));
alter table subscriptions add column unverified integer not null default 0
  check (unverified in (0, 1));
alter table jobs add column unverified integer not null default 0 check (unverified in (0, 1));
alter table job_templates add column unverified integer not null default 0
  check (unverified in (0, 1));
alter table spawns add column seed_unverified integer not null default 0
  check (seed_unverified in (0, 1));
alter table restarts add column seed_unverified integer not null default 0
  check (seed_unverified in (0, 1));

-- The person who sent a message in the name of its sender.

alter table messages add column sent_by text;

-- Proof that a peer's machine made its id; null for ids of earlier versions.

alter table peers add column id_proof text;
alter table remote_peers add column id_proof text;

-- The words of messages in any language: the scheduler fills the index anew, in small steps. `ends`
-- has the ends of long words, so that a part of a word is found.

drop table message_words;
create virtual table message_words using fts5(
  text, reply, ends,
  content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co So'"
);
delete from word_marks;
