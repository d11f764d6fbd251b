-- True if the agent's own dialog asks the same question. It stays open after the wait here ends.
alter table held_asks add column at_terminal integer not null default 0;
