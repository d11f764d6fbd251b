/** SQL of the table `stages`: the stages of traces for which `messages` has no column. */

import * as z from "zod";
import type { Reader, Tx } from "kit/data/sqlite.ts";
import { identOf } from "./rows.ts";

/** Adds a stage, by default a failed one. The usual stages are columns of the message. */
export function insertStage(
  tx: Tx,
  { delivery_id, stage, status = "fail", ts, detail }: {
    delivery_id: string;
    stage: string;
    status?: "ok" | "fail";
    ts: number;
    detail: string | null;
  },
): void {
  tx.run(
    `insert into stages (ident, stage, status, ts, detail)
     values (:ident, :stage, :status, :ts, :detail)`,
    { ident: identOf(delivery_id), stage, status, ts, detail },
  );
}

const StageRow = z.object({
  stage: z.string(),
  status: z.enum(["ok", "fail"]),
  ts: z.number(),
  detail: z.string().nullable(),
});

export function stagesOf(db: Reader, ident: string) {
  return db.all(StageRow, "select stage, status, ts, detail from stages where ident = :ident", {
    ident,
  });
}

/** Deletes the stages of messages. `idents` are the hex digits of the messages' ids. */
export function removeStages(tx: Tx, idents: readonly string[]): void {
  tx.run("delete from stages where ident in (select value from json_each(:idents))", {
    idents: JSON.stringify(idents),
  });
}
