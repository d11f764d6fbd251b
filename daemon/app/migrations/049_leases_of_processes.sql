-- A lease for a process that its request named ends with that process, also if an agent took it.
-- Any other lease of an agent goes on with the agent's next process.

alter table leases add column of_agent integer not null default 1;
