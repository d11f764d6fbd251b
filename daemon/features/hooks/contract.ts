/** The routes of hooks: hook events, and the hook that waits to wake its session. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";

export const postHook = contract({
  id: "agents.hook",
  method: "POST",
  path: "/hooks/:agent",
  summary: "One hook event of an agent, in the agent's own form",
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
  summary: "A hook waits until a message is to wake its session, or until it need not",
  access: "checked",
  tunnel: "never",
  params: z.object({ agent: z.string() }),
  body: z.object({
    session_id: z.string().min(1),
    /** The delivery that this hook has just written to where its session reads it. */
    written: z.string().optional(),
  }),
  returns: z.object({
    then: z.enum(["write", "again", "end"]),
    delivery_id: z.string().optional(),
    text: z.string().optional(),
  }),
  fails: ["unknown_agent"],
});
