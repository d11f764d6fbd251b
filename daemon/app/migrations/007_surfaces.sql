-- Surfaces: who they are, which ref they gave to which item, and the items of one thread.

alter table inbox_items add column thread text;
update inbox_items set thread = correlation_id;
create index inbox_thread on inbox_items (thread, seq) where thread is not null;
create index inbox_unread on inbox_items (seq) where read_at is null;

alter table pushes add column delivery_id text;
alter table pushes add column ref_digits text generated always as
  (case when surface_ref <> '' and surface_ref not glob '*[^0-9]*'
   then ltrim(surface_ref, '0') end) virtual;
alter table pushes add column ref_length integer generated always as
  (length(ref_digits)) virtual;
drop index pushes_surface;
create index pushes_rendered on pushes (surface, ref_length, ref_digits, seq)
  where status = 'pushed';
create index pushes_open on pushes (surface, item_id) where status <> 'pushed';

create table push_refs (
  surface text not null,
  ref text not null,
  digits text generated always as
    (case when ref <> '' and ref not glob '*[^0-9]*' then ltrim(ref, '0') end) virtual,
  item_id text not null references inbox_items (item_id) on delete cascade,
  primary key (surface, ref)
) strict, without rowid;
create index push_refs_digits on push_refs (surface, digits) where digits is not null;
create index push_refs_item on push_refs (item_id);
insert or replace into push_refs (surface, ref, item_id)
  select surface, json_each.value, item_id from pushes, json_each(surface_refs)
  order by pushes.seq;

create table surfaces (
  surface text primary key,
  peer_id text not null unique,
  bridge integer not null check (bridge in (0, 1)),
  seen_at integer not null
) strict, without rowid;
