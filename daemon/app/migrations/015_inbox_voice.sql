-- Whether an inbox item's sender is proved to be who it claims to be.

alter table inbox_items add column voice text check (voice in ('peer', 'human', 'unverified'));
