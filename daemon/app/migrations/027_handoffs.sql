-- The session that a spawned agent resumes, and the peer that had it, which the agent is again.

alter table spawns add column resumed_session text;
alter table spawns add column resumed_peer_id text;

-- A restart that changes the agent of a peer: what the peer was and becomes, so that the earlier
-- session can be resumed after a failure. The files are those of the first message.

alter table restarts add column from_backend text;
alter table restarts add column from_session text;
alter table restarts add column to_backend text;
alter table restarts add column seed_attachments text not null default '[]'
  check (json_valid(seed_attachments));
