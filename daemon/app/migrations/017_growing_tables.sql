-- What is read again and again from tables that grow: counts of jobs, live peers, the human, and
-- the peers of a process, a pane and a circle.

create index jobs_state on jobs (state);
create index peers_live on peers (peer_id)
  where status in ('online', 'busy') and dropped_at is null;
create index peers_human on peers (peer_id) where role = 'human';
create index peers_process on peers (agent_pid) where agent_pid is not null;
create index peers_pane on peers (pane_id) where pane_id is not null;
create index peers_circle on peers (circle);
