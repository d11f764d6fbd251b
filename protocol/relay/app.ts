/** The contract of the relay's health check. */

import * as z from "zod";
import { atRelay, contract } from "protocol/contract.ts";

export const getRelayHealth = contract({
  id: "relay.health",
  method: "GET",
  path: "/health",
  summary: "Whether the relay is up",
  ...atRelay,
  returns: z.object({
    status: z.literal("ok"),
    version: z.string(),
    uptime_seconds: z.number(),
    daemons: z.number().int(),
    oauth: z.enum(["enabled", "disabled"]),
  }),
});
