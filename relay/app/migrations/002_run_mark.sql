-- The mark that is in a file beside the database, too, and the one before it.

create table oauth_mark (
  one integer primary key check (one = 1),
  mark text not null,
  mark_before text
) strict;
