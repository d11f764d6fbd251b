-- The children of a peer, such as the subagents that it started.

create index peers_parent on peers (parent_runtime_id) where parent_runtime_id is not null;
