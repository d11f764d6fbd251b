-- Reports on two work trees that pass a check apart and fail it together. The ask to their authors
-- is `correlation_id`; null if it was refused, or if the report went to the human at once.

create table joint_reports (
  report_id text primary key,
  repository text not null,
  first_peer_id text not null,
  second_peer_id text not null,
  check_name text not null,
  state text not null check (state in ('asked', 'with_human', 'settled')),
  tree text not null,
  correlation_id text,
  created_at integer not null,
  updated_at integer not null
) strict;

create unique index joint_reports_open on joint_reports (first_peer_id, second_peer_id)
  where state <> 'settled';
