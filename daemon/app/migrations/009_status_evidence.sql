-- Who reported a peer's status and turn, and when: evidence has a source and an age.

alter table peers add column status_by text;
alter table peers add column status_at integer;
alter table peers add column turn_by text;
