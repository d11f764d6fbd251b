-- Whether a message is to interrupt a running turn: its sender says so, or the human sent it.

alter table messages add column urgent integer not null default 0 check (urgent in (0, 1));

-- The urgent messages that wait, which a hook after a tool call may hand over.

create index messages_urgent on messages (to_peer_id, seq) where urgent = 1 and state = 'queued';
