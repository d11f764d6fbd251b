-- Idempotency keys: the answer of each request that carried one (contract 1).

create table idempotency (
  seq integer primary key,
  sender text not null,
  route text not null,
  key text not null,
  body_hash text not null,
  answer text not null,
  created_at integer not null,
  unique (sender, route, key)
) strict;
create index idempotency_created on idempotency (created_at);
