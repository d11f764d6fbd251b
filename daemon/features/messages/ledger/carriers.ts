/** SQL that finds the messages that carry a file which their recipients have not read yet. */

import * as z from "zod";
import type { Reader } from "kit/data/sqlite.ts";
import { DELIVERY_ID } from "./rows.ts";

/** Maximum number of messages that are returned. */
const FOUND_MAX = 100;

const CARRIES = `instr(attachments, :attachment)`;

/**
 * Ids of the messages with an attachment that are not delivered, or are unanswered asks. Each part
 * of the query reads an index of few rows.
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
