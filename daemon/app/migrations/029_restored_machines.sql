-- What a message between machines says, as a digest: a repeat of its id with another digest is
-- refused. Null for messages of earlier versions.

alter table remote_messages add column digest text;

-- The last of our entries that the other machine has confirmed. If it names an earlier one later,
-- its database went back. And the start of its last run that was heard of.

alter table link_positions add column confirmed_tag text;
