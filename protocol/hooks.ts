/** The routes of hooks: hook events, and the hook that waits to wake its session. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";

export const postHook = contract({
  id: "agents.hook",
  method: "POST",
  path: "/hooks/:agent",
  summary: "Report one hook event, in the agent's own format",
  access: "checked",
  tunnel: "never",
  params: z.object({ agent: z.string() }),
  body: z.looseObject({}),
  returns: z.looseObject({}),
  fails: ["unknown_agent"],
});

export const waitForWake = contract({
  id: "agents.wait",
  method: "POST",
  path: "/hooks/:agent/wait",
  summary: "Block a hook until a message has to wake its session, or waiting is pointless",
  access: "checked",
  tunnel: "never",
  params: z.object({ agent: z.string() }),
  body: z.object({
    session_id: z.string().min(1),
    /** The delivery that this hook has just written to its session. */
    written: z.string().optional(),
  }),
  returns: z.object({
    then: z.enum(["write", "again", "end"]),
    delivery_id: z.string().optional(),
    text: z.string().optional(),
  }),
  fails: ["unknown_agent"],
});
