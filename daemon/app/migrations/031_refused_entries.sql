-- Why an entry of another machine was refused: a repeat of the entry is refused again.

alter table link_receipts add column refused text;
create index link_receipts_refused on link_receipts (daemon_id, received_at)
  where refused is not null;

-- When the other machine confirmed the last of our entries.

alter table link_positions add column confirmed_at integer;

-- The last time at which one of the two databases was found to have gone back, and how many entries
-- this machine sent again.

alter table link_positions add column lost_at integer;
alter table link_positions add column sent_again integer;
