-- Changes of agents for a person to review, by folder: the summary that git gave at `read_at`, and
-- what a person decided. `digest` is that of the diff which the decision was about.

create table reviews (
  review_id text primary key,
  folder text not null unique,
  summary text,
  read_at integer,
  task_id text,
  placed text check (placed in ('in', 'out')),
  decision text check (decision in ('accepted', 'sent_back')),
  decided_at integer,
  decided_by text,
  decision_digest text,
  correlation_id text
) strict, without rowid;

-- Comments on lines, each with the line as it was. The ask has the text, its delivery, its answer.

create table review_comments (
  comment_id text primary key,
  review_id text not null,
  file text not null,
  side text not null check (side in ('new', 'old')),
  line integer not null,
  line_text text not null,
  blob text,
  text text not null,
  correlation_id text not null,
  at integer not null
) strict, without rowid;

create index review_comments_of on review_comments (review_id, at);
create index review_comments_ask on review_comments (correlation_id);
