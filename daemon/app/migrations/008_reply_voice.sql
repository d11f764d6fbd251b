-- Whose word a reply is: the human's or a peer's.

alter table messages add column reply_voice text
  check (reply_voice in ('peer', 'human', 'unverified'));
