-- What a message between machines says, as a digest: a repeat of its id with another digest is
-- refused. Null for messages of earlier versions.

alter table remote_messages add column digest text;

-- The last of our entries that the other machine has confirmed. If it names an earlier one later, its
-- database went back. A position begins with either of the two tags.

create table link_positions_next (
  daemon_id text primary key,
  last_tag text,
  confirmed_tag text
) strict;
insert into link_positions_next (daemon_id, last_tag) select daemon_id, last_tag from link_positions;
drop table link_positions;
alter table link_positions_next rename to link_positions;
