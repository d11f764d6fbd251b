/** SQL that finds the messages whose recipients are still to read a file. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { DELIVERY_ID } from "./rows.ts";

/** The maximum number of messages that are found. */
const FOUND_MAX = 100;

const CARRIES = `instr(attachments, :attachment)`;

/**
 * The ids of the messages with an attachment that are not delivered, or are asks that are not
 * answered. Each part reads an index of few rows.
 */
export function carriersOf(db: Reader, attachment: string): string[] {
  return db.values(
    z.string(),
    `select ${DELIVERY_ID} from messages where seq in (
       select seq from messages indexed by messages_queued where state = 'queued' and ${CARRIES}
       union
       select seq from messages where under_way = 1 and ${CARRIES}
       union
       select seq from messages where ask_state = 'open' and ${CARRIES}
       limit :limit)
     order by seq`,
    { attachment, limit: FOUND_MAX },
  );
}
