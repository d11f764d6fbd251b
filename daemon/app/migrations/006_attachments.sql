-- `file` is the name in the attachments directory, so that a state directory can be moved.

create table attachments (
  seq integer primary key,
  id text not null unique,
  filename text not null,
  size integer not null,
  content_type text not null,
  sha256 text not null,
  file text not null,
  created_at integer not null,
  expires_at integer not null
) strict;
create index attachments_expiring on attachments (expires_at);
