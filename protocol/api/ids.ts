/** The route that completes a shortened id, as data. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";

export const completeId = contract({
  id: "ids.complete",
  method: "GET",
  path: "/ids/:short",
  summary: "The id that begins like this: a prefix and 4 or more digits, or the digits alone",
  access: "caller",
  tunnel: "admin",
  params: z.object({ short: z.string() }),
  query: z.object({
    of: z.enum(["peer", "record"]).describe(
      "What the id names: a peer, or a message, inbox item, job or schedule. Of messages, the " +
        "latest 20,000 and all open asks are searched",
    ),
  }),
  returns: z.object({ id: z.string() }),
  fails: ["unknown_id", "ambiguous_id"],
});
