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
  db.prepare(
    `with recursive copy (number) as
       (select 1 union all select number + 1 from copy where number < ?1)
     insert into messages (seq, ident, ${columns})
     select top + number, ident_of(top + number), ${columns} from copy
     join (select max(seq) as top from messages)
     join messages on seq = 1 + (number % (select min(20, count(*)) from messages))`,
  ).run(count);
}
