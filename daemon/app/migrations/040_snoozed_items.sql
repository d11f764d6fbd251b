-- The instant until which a person has put an item off; null if it is not put off.
alter table inbox_items add column snoozed_until integer;
