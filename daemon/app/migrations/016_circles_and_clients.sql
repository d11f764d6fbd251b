-- Whether a schedule's request named its circle. Until now, a schedule always searched one circle.

alter table schedules add column circle_given integer not null default 1
  check (circle_given in (0, 1));

-- What identifies a WebSocket client that connects again: a digest of its client_id.

alter table peers add column client_key text;
create index peers_client on peers (client_key) where client_key is not null;

-- Whether a birth certificate was ever issued to a peer. Nobody knows it of earlier peers.

alter table peers add column certified integer not null default 1 check (certified in (0, 1));
