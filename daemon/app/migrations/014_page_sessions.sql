-- Whether the kernel has proved a peer's process; and the sessions of browsers on our pages.

alter table peers add column agent_proved integer not null default 0
  check (agent_proved in (0, 1));
update peers set agent_proved = 1 where agent_pid is not null;
create table page_sessions (
  digest text primary key,
  human integer not null check (human in (0, 1)),
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;
