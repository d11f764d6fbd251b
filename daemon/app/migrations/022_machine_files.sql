-- Attachments that cross machines. `object` is the random name under which the bus has a file.
-- `uses` counts the entries that name it and are not confirmed yet. `ready_at`: since when the bus
-- has the file, or it is certain that it never will, for `reason`.

create table machine_files_sent (
  object text primary key,
  daemon_id text not null,
  attachment text not null,
  uses integer not null,
  attempts integer not null,
  ready_at integer,
  reason text,
  described_at integer not null,
  expires_at integer not null
) strict, without rowid;
create index machine_files_sent_reused on machine_files_sent (daemon_id, attachment, described_at);
create index machine_files_sent_released on machine_files_sent (object) where uses = 0;
create index machine_files_sent_expiring on machine_files_sent (expires_at);

-- `attachment` is the local copy; `reason` says why there is none. Both are null until either is
-- certain.

create table machine_files_received (
  daemon_id text not null,
  object text not null,
  attachment text,
  reason text,
  attempts integer not null,
  expires_at integer not null,
  primary key (daemon_id, object)
) strict, without rowid;
create index machine_files_received_expiring on machine_files_received (expires_at);
