-- True if each message of a schedule has a digest of the time since the last.

alter table schedules add column digest integer not null default 0 check (digest in (0, 1));

-- The peers whose agents have lost what they knew, and what mesh has told them since.

create table briefings (
  peer_id text primary key,
  cause text not null,
  given_at integer,
  requested integer not null default 0 check (requested in (0, 1)),
  ask_ids text not null default '[]'
) strict;
