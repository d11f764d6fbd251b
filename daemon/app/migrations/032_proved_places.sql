-- The pane in which a peer's process claims to run, even if another agent has that pane; and a flag:
-- the agent itself reported the peer's session.

alter table peers add column claimed_pane_id text;
alter table peers add column session_proved integer not null default 0;
update peers set claimed_pane_id = pane_id;
update peers set session_proved = 1 where source = 'hook' and runtime_session_id is not null;

create index peers_by_claimed_pane on peers (claimed_pane_id) where claimed_pane_id is not null;
