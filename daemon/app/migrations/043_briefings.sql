-- The peers whose agents have lost what they knew, and what mesh has told them since.

create table briefings (
  peer_id text primary key,
  cause text not null,
  given_at integer,
  requested integer not null default 0 check (requested in (0, 1)),
  ask_ids text not null default '[]'
) strict;
