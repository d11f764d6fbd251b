-- The numbers of messages and events that this database skips: those after `last` and before `next`.
-- Each run of the daemon skips some, so that it gives no number that another run has given which
-- began with a copy of this file.

create table number_gaps (
  series text not null check (series in ('messages', 'events')),
  last integer not null,
  next integer not null,
  primary key (series, last)
) strict, without rowid;
