/** The daemon's own routes: health, events, metrics and API description. */

import type * as z from "zod";
import { openapi } from "kit/http/openapi.ts";
import type { EventLog } from "../../data/event_log.ts";
import type { MeshEvent } from "protocol/events.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Contract } from "kit/http/contract.ts";
import { STREAM_HEADERS } from "kit/core/problem.ts";
import { failStalled, STALLED_MS_MAX } from "kit/net/silence.ts";
import { METRICS_TYPE } from "kit/http/metrics.ts";
import { type Caller, rawRoute, type Route, route } from "kit/http/route.ts";
import type { Surfaces } from "../../features/inbox/surfaces.ts";
import * as contracts from "protocol/api/events.ts";
import { API_INFO } from "../reference/api_info.ts";
import { docsPage } from "../reference/page.ts";
import type { Meters } from "./metrics.ts";
import { eventFrames, type StreamOptions, toWire } from "./stream.ts";

interface SystemDeps {
  readonly clock: Clock;
  readonly events: EventLog;
  readonly meters: Meters;
  health(): contracts.Health;
  /** Messages that wait for a transport. */
  queued(): number;
  databaseBytes(): number;
  /** All contracts of the daemon, for the OpenAPI document. */
  contracts(): readonly Contract[];
  /** Ends all streams. */
  readonly signal: AbortSignal;
  /** Aborts when the session of a paired device ends. */
  endOfDevice(device_id: string): AbortSignal;
  readonly surfaces: Surfaces;
}

export function systemRoutes(deps: SystemDeps): Route[] {
  const { events, meters } = deps;
  // Made once, because making it takes long, and any program may ask for it.
  let made: ReturnType<typeof openapi> | undefined;
  const document = () => made ??= openapi(API_INFO, deps.contracts());
  return [
    route(contracts.getHealth, () => deps.health()),
    route(contracts.getStatus, () => deps.health()),
    route(contracts.listEvents, ({ query }) => list(events, query)),
    rawRoute(contracts.streamEvents, (request, caller) => stream(deps, request, caller)),
    route(contracts.getFigures, () => ({
      ...meters.hour.figures(),
      queued: deps.queued(),
      database_bytes: deps.databaseBytes(),
    })),
    rawRoute(
      contracts.getMetrics,
      () => new Response(meters.render(), { headers: { "content-type": METRICS_TYPE } }),
    ),
    route(contracts.getOpenapi, document),
    rawRoute(
      contracts.getDocs,
      (request) => docsPage(document(), deps.contracts(), new URL(request.url).origin),
    ),
  ];
}

async function list(
  events: EventLog,
  { since, replay, ...range }: z.output<typeof contracts.listEvents.query>,
) {
  const start = since ?? (replay === undefined ? 0 : events.idBefore(replay));
  const hasGap = since !== undefined && !events.continuesAfter(Math.max(0, since));
  const found = await events.search({ ...range, since: start });
  const last = found.length === range.limit ? found.at(-1)?.id ?? null : null;
  return {
    events: found.map(toWire),
    // A reader whose position is beyond the end continues with new events.
    next: start > events.last ? events.last : last,
    ...(hasGap && { gap: { oldest: events.oldest } }),
  };
}

/** Opens the event stream of one reader. Ignores a malformed event id (contract 3). */
function stream(deps: SystemDeps, request: Request, { device_id }: Caller): Response {
  const query = new URL(request.url).searchParams;
  const since = toId(request.headers.get("last-event-id")) ?? toId(query.get("since"));
  const ended = device_id === undefined ? [] : [deps.endOfDevice(device_id)];
  const signal = AbortSignal.any([deps.signal, request.signal, ...ended]);
  const options = { since, replay: toId(query.get("replay")), signal };
  const body = ReadableStream.from(encode(deps, options, query.get("surface")));
  return new Response(failStalled(deps.clock, STALLED_MS_MAX, body), { headers: STREAM_HEADERS });
}

/** The dashboard counts as a connected surface while its stream is read. */
async function* encode(
  { events, clock, meters, surfaces }: SystemDeps,
  options: StreamOptions,
  name: string | null,
) {
  using _reader = meters.streamOpened();
  using surface = name === "dashboard" ? surfaces.dashboard() : undefined;
  const frames = eventFrames(events, clock, {
    ...options,
    onTooSlow: () => meters.limitReached("stream_too_slow"),
    ...(surface && {
      sendsAlive: true,
      markPushed: (event: MeshEvent) => surface.markPushed(event),
    }),
  });
  const encoder = new TextEncoder();
  for await (const frame of frames) yield encoder.encode(frame);
}

function toId(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
