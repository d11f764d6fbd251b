-- Whether a delivery is unproved follows from the time it was sent: nothing is written for it.

drop index messages_watched;
drop index messages_unproved;
alter table messages drop column watched;
alter table messages drop column unproved;
alter table messages drop column unproved_at;
create index messages_unsettled on messages (sent_at)
  where state = 'sent' and repeatable = 1 and rung = 'hook';
create index messages_unproved on messages (to_peer_id, seq)
  where state = 'sent' and repeatable = 0 and named_at is null and rung <> 'websocket';
