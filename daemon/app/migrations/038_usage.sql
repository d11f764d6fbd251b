-- Tokens of requests to models, which agents record in their session files: their sums by the day
-- of this machine's zone. '' is none, because null values are never equal in a key; a number is null
-- where the agent does not record it.

create table usage_days (
  day text not null,
  peer_id text not null,
  backend text not null,
  session_id text not null,
  model text not null,
  chain text not null,
  job_id text not null,
  requests integer not null,
  input_tokens integer,
  cached_input_read_tokens integer,
  cached_input_write_tokens integer,
  output_tokens integer,
  reasoning_tokens integer,
  primary key (day, peer_id, backend, session_id, model, chain, job_id)
) strict, without rowid;

-- How far each file was read, and the last requests in it, whose tokens may still grow. It has no
-- text of the file.

create table usage_files (
  file text not null,
  session_id text not null,
  peer_id text not null,
  position integer not null,
  before integer not null,
  state text not null,
  recent text not null,
  read_at integer not null,
  primary key (file, session_id)
) strict, without rowid;

-- Hashes of the counted requests, because a fork of a session has its requests as well.

create table usage_requests (key integer primary key, day text not null) strict;

create index job_attempts_message on job_attempts (delivery_id) where delivery_id is not null;

-- The chain of messages, and the job, that each agent began to work on at a time; '' is none.

create table usage_work (
  peer_id text not null,
  at integer not null,
  chain text not null,
  job_id text not null,
  primary key (peer_id, at)
) strict, without rowid;
