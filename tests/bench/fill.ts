/** Fills a daemon's database with copies of what is queued in it, while no daemon runs. */

import { DatabaseSync } from "node:sqlite";

const OWN = ["seq", "ident"];

export function fill(path: string, count: number): void {
  using db = new DatabaseSync(path);
  const columns = db.prepare("pragma table_info(messages)").all()
    .map(({ name }) => String(name)).filter((name) => !OWN.includes(name)).join(", ");
  db.prepare(
    `with recursive copy (number) as
       (select 1 union all select number + 1 from copy where number < ?1)
     insert into messages (ident, ${columns})
     select lower(hex(randomblob(6))), ${columns} from copy
     join messages on seq = 1 + (number % (select min(20, count(*)) from messages))`,
  ).run(count);
}
