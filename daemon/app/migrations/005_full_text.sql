-- Full-text search by the message's number. It holds no text of its own; the scheduler fills it, and
-- word_marks holds how far.

create virtual table message_words using fts5(
  text, reply,
  content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
create table word_marks (
  one integer primary key check (one = 1),
  seq integer not null,
  event integer not null
) strict;
