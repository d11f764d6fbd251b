/** SQL of the reports on work that fails together. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { jointReportMachine } from "protocol/joint_checks/states.ts";

const StoredReport = z.object({
  report_id: z.string(),
  repository: z.string(),
  /** The peer that was asked. */
  first_peer_id: z.string(),
  second_peer_id: z.string(),
  check_name: z.string(),
  state: z.enum(jointReportMachine.states),
  /** The joined files that failed. */
  tree: z.string(),
  /** The ask to the first peer; null if the human was informed at once. */
  correlation_id: z.string().nullable(),
  created_at: Instant,
  updated_at: Instant,
});
export type StoredReport = z.output<typeof StoredReport>;

const table = tableOf("joint_reports", StoredReport, "report_id");
export const { insert, update } = table;

/** The reports that are not settled, oldest first. */
export function open(db: Reader): StoredReport[] {
  return table.all(db, "where state <> 'settled' order by created_at, report_id");
}
