/** The daemon's own routes: health, events, metrics and API description. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { Instant, queryInteger } from "kit/core/schema.ts";

const maybe = z.string().nullable();

export const Health = z.object({
  /** `degraded`: messages cannot be stored, or only slowly. */
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  daemon_id: z.string(),
  uptime_seconds: z.number(),
  pid: z.number().int(),
  peers: z.number().int(),
  schema_version: z.number().int(),
  capabilities: z.record(z.string(), z.boolean()),
  /** The disk under the database. Daemons of earlier versions do not report it. */
  storage: z.object({
    status: z.enum(["ok", "slow", "failing"]),
    since: Instant.nullable(),
    reason: maybe,
  }).optional(),
  /** Present once the database was restored from a backup. `lost_messages`: null if unknown. */
  restored: z.object({ at: Instant, lost_messages: z.number().int().nullable() }).optional(),
  relay: z.object({
    status: z.enum(["connected", "connecting", "down", "disabled"]),
    url: maybe,
    last_connected_at: Instant.nullable(),
    /** Last time that anything came from the relay; absent while it is not connected. */
    last_heard_at: Instant.optional(),
    last_error: maybe,
  }),
  /** The bus between machines, where one is set. Daemons of earlier versions do not report it. */
  bus: z.object({
    status: z.enum(["connected", "connecting", "down"]),
    reason: maybe,
    /**
     * Another daemon with this machine's id was connected first, so this daemon exchanges nothing.
     */
    identity_in_use: z.boolean(),
  }).optional(),
});
export type Health = z.output<typeof Health>;

export const getHealth = contract({
  id: "system.health",
  method: "GET",
  path: "/health",
  summary: "Whether the daemon is running, and its capabilities",
  access: "public",
  tunnel: "open",
  returns: Health,
});

export const getStatus = contract({ ...getHealth, id: "system.status", path: "/status" });

/**
 * An event on the wire. Its own fields are on the same level as its id, type and time (contract 2).
 */
export const WireEvent = z.looseObject({
  id: z.number().int(),
  type: z.string(),
  timestamp: z.string(),
});

export const listEvents = contract({
  id: "events.list",
  method: "GET",
  path: "/events",
  compressed: true,
  summary: "The event log, oldest first",
  access: "caller",
  tunnel: "open",
  query: z.object({
    since: queryInteger().optional(),
    /** The newest events, instead of those after `since`. */
    replay: queryInteger().optional(),
    type: z.string().optional(),
    limit: queryInteger(1).default(100)
      .transform((limit) => Math.min(limit, 1000)),
  }),
  returns: z.object({
    events: z.array(WireEvent),
    next: z.number().int().nullable(),
    /**
     * Present if events after `since` are missing: they were deleted, or the daemon lost them
     * because its database was restored. `oldest` is the first event that is stored.
     */
    gap: z.object({ oldest: z.number().int() }).optional(),
  }),
});

export const streamEvents = contract({
  id: "events.stream",
  method: "GET",
  path: "/events/stream",
  summary: "The event log, live, as server-sent events",
  access: "caller",
  tunnel: "open",
  query: z.object({
    since: z.string().optional(),
    replay: z.string().optional(),
    surface: z.string().optional(),
  }),
  returns: z.string(),
  responseType: "text/event-stream",
});

export const getMetrics = contract({
  id: "system.metrics",
  method: "GET",
  path: "/metrics",
  summary: "Metrics for Prometheus",
  access: "token",
  tunnel: "never",
  returns: z.string(),
  responseType: "text/plain",
});

/** Milliseconds from a message's creation; each is right to 1/16. */
const Spread = z.object({ p50: z.number(), p99: z.number() });
export type Spread = z.output<typeof Spread>;

const DeliveryFigures = z.object({
  /** Time until a transport had sent the message; null if none was sent. */
  sent_ms: Spread.nullable(),
  /** Time until its peer had seen it; null if none was seen. */
  seen_ms: Spread.nullable(),
});

/**
 * The last hour, or what there was of it since the daemon started. Messages to the human's inbox
 * are not counted.
 */
export const getFigures = contract({
  id: "system.figures",
  method: "GET",
  path: "/figures",
  compressed: true,
  summary: "Deliveries of the last hour by minute with their times, the queue, the database",
  access: "caller",
  tunnel: "open",
  returns: DeliveryFigures.extend({
    started_at: Instant,
    /** Messages that wait for a transport now. */
    queued: z.number().int(),
    database_bytes: z.number().int(),
    /** Minutes with data, oldest first. */
    minutes: z.array(DeliveryFigures.extend({
      at: Instant,
      sent: z.number().int(),
      seen: z.number().int(),
      /** Messages that failed, expired or were dropped. */
      lost: z.number().int(),
      /** Number of messages that waited in this minute; null if that was not sampled. */
      queued: z.number().int().nullable(),
    })),
  }),
});

export const getOpenapi = contract({
  id: "system.openapi",
  method: "GET",
  path: "/openapi.json",
  compressed: true,
  summary: "The API as an OpenAPI 3.1 document",
  access: "caller",
  tunnel: "never",
  returns: z.looseObject({ openapi: z.string() }),
});

export const getDocs = contract({
  id: "system.docs",
  method: "GET",
  path: "/docs",
  summary: "The API as a page for people",
  access: "user",
  tunnel: "never",
  returns: z.string(),
  responseType: "text/html",
});
