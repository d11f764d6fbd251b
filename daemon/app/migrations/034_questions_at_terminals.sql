-- Whether the agent's own dialog asks the same: it goes on when nobody waits here any more.
alter table held_asks add column at_terminal integer not null default 0;
