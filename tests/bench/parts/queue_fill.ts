/** Fills a daemon's database with copies of its queued messages, while no daemon runs. */

import { DatabaseSync } from "node:sqlite";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";

const OWN = ["seq", "ident"];

export function fill(path: string, count: number): void {
  using db = new DatabaseSync(path);
  const key = db.prepare("select value from meta where key = 'number_key'").get()?.["value"];
  const idCodec = keyedIdCodec(String(key));
  db.function("ident_of", (seq) => idCodec.ident(Number(seq)));
  const columns = db.prepare("pragma table_info(messages)").all()
    .map(({ name }) => String(name)).filter((name) => !OWN.includes(name)).join(", ");
  const { changes } = db.prepare(
    `with recursive copy (number) as
       (select 1 union all select number + 1 from copy where number < ?1),
     queued as (select *, row_number() over (order by seq) - 1 as place from messages)
     insert into messages (seq, ident, ${columns})
     select top + number, ident_of(top + number), ${columns} from copy
     join (select max(seq) as top, min(20, count(*)) as places from messages)
     join queued on place = number % places`,
  ).run(count);
  if (changes !== count) throw new Error(`${changes} of ${count} copies were made`);
}
