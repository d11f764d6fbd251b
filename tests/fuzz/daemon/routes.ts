/** Every route of the daemon, with hostile input, on a daemon in memory. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import {
  addPeer,
  ask,
  connectPeerWithReceipts,
  notify,
} from "../../support/daemon/peer_clients.ts";
import { type World, world } from "../../support/world.ts";
import type { Count, OpenTarget, Target } from "../target.ts";
import { describedRequestsOf } from "./described.ts";
import { type FuzzRequest, operationsOf, requestsOf } from "./operations.ts";

const INPUTS = 800;
/** The longest wait of a route: a permission is asked for an hour at most. */
const WAIT_S_MAX = 4000;
const WAIT_STEP_S = 100;
const REAL_MS_MAX = 5000;
const IDS_MAX = 400;
const ID = /\b[a-z]+-[0-9a-f]{12,32}\b/g;
/** Opening these is another protocol, or never ends. */
const OTHER_PROTOCOLS = new Set(["/ws", "/events/stream", "/mcp"]);

export const ROUTES: Target = {
  name: "routes",
  inputs: INPUTS,
  open: (count) => openRoutes(count, (_, operations, ids) => requestsOf(operations, ids)),
};
export const DESCRIBED_REQUESTS: Target = {
  name: "requests that the description of the API allows",
  inputs: INPUTS,
  open: (count) => openRoutes(count, describedRequestsOf, assertTaken),
};

type Requests = typeof describedRequestsOf;

async function openRoutes(
  count: Count,
  requests: Requests,
  check: (request: FuzzRequest, status: number, text: string) => void = () => undefined,
): Promise<OpenTarget> {
  const w = world({ settings: { "human.name": "sam" } });
  const ids = ["api", "web", "sam", "dashboard", "main", "%1", "1", "true", "text", "30"];
  for (const name of ["api", "web"]) ids.push((await addPeer(w, name)).peer_id);
  await connectPeerWithReceipts(w, "live");
  for (const to of ["api", "live", "sam"]) {
    ids.push(await ask(w, "web", to));
    await notify(w, "web", to);
  }
  const document = await (await w.fetch("/openapi.json")).json();
  const operations = operationsOf(document).filter(({ path }) => !OTHER_PROTOCOLS.has(path));
  const property = fc.asyncProperty(requests(document, operations, ids), async (request) => {
    const { method, path } = request.operation;
    const { status, text } = await answer(w, request);
    count(`${method} ${path} ${Math.floor(status / 100)}xx`);
    assertProper(request, status, text);
    check(request, status, text);
    assertQuiet(w);
    for (const [id] of text.slice(0, 20_000).matchAll(ID)) if (ids.length < IDS_MAX) ids.push(id);
  });
  return {
    property,
    verify: () => assertHealthy(w),
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

/** Sends a request, and lets time pass until it is answered. */
async function answer(w: World, { operation, path, headers, body }: FuzzRequest) {
  const all = new Headers();
  if (operation.media_type?.startsWith("multipart")) {
    all.set("content-type", "multipart/form-data; boundary=b");
  }
  for (const [name, value] of headers) all.set(name, value);
  const init = { method: operation.method, headers: all, ...(body !== undefined && { body }) };
  let answered: { status: number; text: string } | undefined;
  const pending = w.fetch(path, init).then(async (response) => {
    answered = { status: response.status, text: await response.text() };
  });
  await Promise.race([pending, w.clock.settle()]);
  if (operation.path.startsWith("/attachments")) await timeout(systemClock, REAL_MS_MAX, pending);
  for (let waited = 0; !answered && waited < WAIT_S_MAX; waited += WAIT_STEP_S) {
    await Promise.race([pending, w.clock.advance(WAIT_STEP_S * 1000)]);
    w.daemon.tick();
  }
  // Files and threads take real time.
  await timeout(systemClock, REAL_MS_MAX, pending);
  assert.ok(answered, `${operation.method} ${path} is not answered after ${WAIT_S_MAX} s`);
  return answered;
}

/** A status that the description names, and an error that a caller can act on. */
function assertProper({ operation, path }: FuzzRequest, status: number, text: string): void {
  const shown = `${operation.method} ${path}: ${status} ${text.slice(0, 300)}`;
  // An empty segment leads to no route.
  const isNoRoute = status === 404 && /\/(?:[/?]|$)/.test(path);
  assert.ok(status === 304 || isNoRoute || operation.statuses.has(String(status)), shown);
  assert.notEqual(status, 500, shown);
  if (status < 400) return;
  const { error, detail } = JSON.parse(text);
  assert.match(String(error), /^[a-z_]+$/, shown);
  assert.ok(typeof detail === "string" && detail.length > 0, shown);
  assert.doesNotMatch(detail, /\[object |\.ts:\d|SQLITE|\bat async /, shown);
}

/** Refusals of a request that matches its schemas, by rules that no schema can express. */
const RULES = [
  "Not a claim that the daemon can verify",
  "exactly one of", // Two parameters of a query.
  "both origin and act",
  "an instant with its offset",
  "a duration, such as 8h",
  "It is after until",
  "is no budget",
  "five fields (minute hour day month weekday)",
  "an IANA time zone",
  "Two options have the same id",
  "`next` of an earlier page",
  "No peer has this name", // A name that is free, so that it must be a valid one.
  "is no condition",
  "is not a socket",
  "cannot be checked", // A path of a socket that is no file.
  "NUL or a lone surrogate",
  "at most 8192 characters", // The sum of all keys.
  "Longer than", // In bytes of UTF-8, where schemas count characters.
];

/** Refusals because of what exists, which no schema knows. */
const STATES = new Set([
  "unknown_act",
  "unknown_attachment",
  "unknown_check",
  "not_a_question",
  "to_self",
  "no_such_line",
  "push_address_refused",
  "push_keys_refused",
]);

function assertTaken({ operation, path, body }: FuzzRequest, status: number, text: string): void {
  if (![400, 413, 415, 422].includes(status)) return;
  const { error, detail, issues = [{ message: detail }] } = JSON.parse(text);
  if (STATES.has(error)) return;
  const shown = `${operation.method} ${path} ${body}: ${status} ${text.slice(0, 300)}`;
  for (const { message } of issues) assert.ok(RULES.some((rule) => message.includes(rule)), shown);
}

function assertQuiet(w: World): void {
  const faults = w.logged.filter((line) => line.includes('"level":"error"'));
  assert.deepEqual(faults, []);
}

/** The daemon answers, and every message is in one state. */
async function assertHealthy(w: World): Promise<void> {
  await w.tick();
  assertQuiet(w);
  assert.equal((await w.fetch("/health")).status, 200);
  const { unaccounted, counts, total } = await w.clock.during(w.daemon.deliveryAudit.audit());
  assert.deepEqual(unaccounted, []);
  assert.equal(Object.values(counts).reduce((sum, count) => sum + count, 0), total);
}
