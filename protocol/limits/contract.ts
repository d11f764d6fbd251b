/** The limits of accounts: their record and their routes, as data. Safe in a browser. */

import * as z from "zod";
import { byId, contract, nullableString } from "protocol/contract.ts";
import { Instant, QueryFlag } from "kit/core/schema.ts";
import { limitMachine } from "protocol/limits/states.ts";

/** The longest time until a reset that is believed: the quotas of some plans last a month. */
export const RESET_MS_MAX = 32 * 86_400_000;
/** Maximum characters of the provider's text that is kept. */
export const EVIDENCE_CHARS_MAX = 300;

/** One window of a limit, as an agent's own records show it. */
export const LimitWindow = z.object({
  /** `five_hour`, `seven_day`, `daily`, or the number of minutes, such as `90_minutes`. */
  window: z.string(),
  used_percent: z.number(),
  resets_at: Instant.nullable(),
  /** When the agent recorded it; null if it recorded no time. */
  at: Instant.nullable(),
});
export type LimitWindow = z.output<typeof LimitWindow>;

/**
 * The next thing that the account waits for:
 *
 * - `reset`: the end of its limit.
 * - `quiet_hours`: the end of `limits.quiet_hours`, because its limit was reset within them.
 * - `approval`: a person, by `limits.resume`.
 * - `person`: more credit, or a person who says that there is some.
 * - `agent`: the agent that goes on by itself after a reset.
 * - `probe`: the end of the turn that shows if the limit is over.
 * - `message`: the next message to one of its agents, which is the probe.
 */
export const LimitWait = z.enum([
  ...["reset", "quiet_hours", "approval", "person", "agent", "probe", "message"] as const,
]);
export type LimitWait = z.output<typeof LimitWait>;

/** An account of a provider, as far as the agents on this machine tell. Its peers share it. */
export const Limit = z.object({
  account_id: z.string(),
  backend: nullableString,
  /** The folder of the agent's settings, with the account's name if the agent writes one. */
  account: z.string(),
  state: z.enum(limitMachine.states),
  /** The window that is used up, such as `five_hour`; null if it is unknown. */
  window: nullableString,
  since: Instant.nullable(),
  /** The end of the limit, as the agent told it; null if it told none. */
  resets_at: Instant.nullable(),
  /** When the first waiting message goes; null if a person decides. */
  resumes_at: Instant.nullable(),
  waits_for: LimitWait.nullable(),
  /** The report that tells of the limit: its source, its time, and the provider's text. */
  evidence: z.object({
    source: z.string(),
    at: Instant,
    peer_id: z.string(),
    text: nullableString,
  }).nullable(),
  /** The used share of each of its windows, as the agents' records last showed it. */
  windows: z.array(LimitWindow),
  peers: z.array(z.object({ peer_id: z.string(), name: z.string() })),
  /** Number of messages that wait for its peers. */
  queued: z.number().int(),
  /** The account in a sentence. */
  detail: z.string(),
}).meta({ id: "Limit" });
export type Limit = z.output<typeof Limit>;

export const listLimits = contract({
  id: "limits.list",
  method: "GET",
  path: "/limits",
  summary: "The accounts of this machine's agents: their limits, until when, and what waits",
  access: "caller",
  tunnel: "open",
  query: z.object({
    refresh: QueryFlag.optional().describe(
      "Ask running agents first, which ask their provider; at most once a minute",
    ),
  }),
  returns: z.object({ limits: z.array(Limit) }),
});

export const resumeLimit = contract({
  id: "limits.resume",
  method: "POST",
  path: "/limits/:id/resume",
  summary: "Try an account again now, whatever its limit says: for a person. One message goes " +
    "first. `id` is the account's, or a peer of it",
  access: "caller",
  tunnel: "admin",
  params: byId,
  body: z.object({}),
  returns: Limit,
  fails: ["human_not_proven", "unknown_limit", "unknown_peer", "ambiguous_peer"],
});
