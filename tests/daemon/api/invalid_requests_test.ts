import assert from "node:assert/strict";
import * as z from "zod";
import type { Contract } from "kit/http/contract.ts";
import { API_INFO } from "../../../daemon/api/reference/api_info.ts";
import { type ProblemCode, toPublicCode } from "protocol/problems.ts";
import { BASE, LOOPBACK, type World, world } from "../../support/world.ts";
import { addPeer, get, post } from "../../support/daemon/peer_clients.ts";

/** Refusals of any route, beyond its own list. */
const GENERAL: readonly ProblemCode[] = [
  "bad_json",
  "body_too_large",
  "forbidden_host",
  "forbidden_origin",
  "invalid_request",
  "method_not_allowed",
  "not_found",
  "unauthorized",
];

const NUL = "\u0000", LONE_SURROGATE = "\ud800", HUGE = 1e308;
const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

/** Values that no field expects; each is put in place of every field. */
const VALUES: readonly unknown[] = [
  ...[null, true, -1, 0, 1.5, HUGE, -HUGE, 2 ** 53, "", " ", "x", NUL, `a${NUL}b`, LONE_SURROGATE],
  ...["\u202eabc", "🦊".repeat(300), "../../etc/passwd", "' or 1=1 --", "%", "%00", "{}"],
  ...["__proto__", "constructor", "toString", "x".repeat(10_000)],
  ...[[], {}, [null], [[]], { a: 1 }, [1, "a"], { __proto__: null, length: 1e9 }],
];

/** The fields of a route's body or query. */
function fieldsOf(schema: z.ZodType | undefined): string[] {
  if (!schema) return [];
  // The output side, because the input side of `/ask` lies behind the aliases of its keys.
  const { properties } = z.toJSONSchema(schema, { io: "output", unrepresentable: "any" });
  return Object.keys(properties ?? {});
}

/** A body that every route in scope accepts, so that one wrong field is the only fault. */
const VALID_BODIES: Record<string, unknown> = {
  from_peer: "ada",
  to_peer: "bob",
  text: "Hi",
  correlation_id: "ask-ffffffffffff",
  reason: "Busy",
  peer_id: "bob",
  name: "eve",
  path: "/work",
  backend: "sdk",
  description: "x",
  status: "seen",
  drain_id: "drain-1",
  surface: "s",
  surface_ref: "1",
  timeout_seconds: 0,
  runtime_session_id: "s-1",
};

const BODIES: readonly (readonly [string, string, ProblemCode])[] = [
  ["malformed", "{", "bad_json"],
  ["not JSON", "to_peer=bob", "bad_json"],
  ["incomplete", `{"text": "a`, "bad_json"],
  ["a comment", "{} // hi", "bad_json"],
  ["null", "null", "invalid_request"],
  ["an array", "[]", "invalid_request"],
  ["a number", "5", "invalid_request"],
  ["a string", `"x"`, "invalid_request"],
  ["nested too deep", deep, "invalid_request"],
  ["too large", " ".repeat(1_048_577), "body_too_large"],
];

/** The routes that this file tests: JSON in, JSON out. */
function contracts(w: World): Contract[] {
  const foreign = /^\/(command-lines|hooks|mcp|ws|events\/stream)/;
  return w.daemon.routes.map(({ contract }) => contract)
    .filter(({ path }) => !foreign.test(path));
}

function send(w: World, contract: Pick<Contract, "path" | "method">, init: RequestInit = {}) {
  const path = contract.path.replaceAll(/:\w+/g, "bob");
  return w.daemon.fetch(
    new Request(`${BASE}${path}`, { method: contract.method, ...init }),
    LOOPBACK,
  );
}

/** Checks a response: never an internal error, always flat, always a documented code. */
async function check(contract: Contract, answer: Response, requestLine: string): Promise<string> {
  assert.notEqual(answer.status, 500, requestLine);
  if (answer.status === 200 || answer.status === 303) {
    await answer.body?.cancel();
    return "";
  }
  const body = await answer.json();
  assert.deepEqual([typeof body.error, typeof body.detail], ["string", "string"], requestLine);
  const code: string = body.error;
  const announced = [...GENERAL, ...contract.fails ?? []];
  const rows = announced.filter((row) => toPublicCode(row) === code);
  assert.ok(rows.length > 0, `${requestLine}: ${code} is not announced`);
  assert.ok(
    rows.some((row) => API_INFO.problems[row]?.status === answer.status),
    `${requestLine}: ${answer.status}`,
  );
  if (code === "invalid_request") assert.ok(Array.isArray(body.issues), requestLine);
  return code;
}

async function createPeers(): Promise<World> {
  const w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  return w;
}

Deno.test("a malformed body is refused by every route that takes one", async () => {
  await using w = await createPeers();
  for (const contract of contracts(w).filter(({ body }) => body !== undefined)) {
    for (const [name, body, code] of BODIES) {
      const requestLine = `${contract.method} ${contract.path}: ${name}`;
      assert.equal(
        await check(contract, await send(w, contract, { body }), requestLine),
        code,
        requestLine,
      );
    }
  }
});

Deno.test("a body that is too large is refused with and without a content-length [c1.body-size]", async () => {
  await using w = await createPeers();
  const chunk = new TextEncoder().encode("x".repeat(65_536));
  for (const contract of contracts(w).filter(({ body }) => body !== undefined)) {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += chunk.length;
        controller.enqueue(chunk);
      },
    });
    const streamed = await send(w, contract, { body });
    assert.equal(await check(contract, streamed, contract.path), "body_too_large");
    assert.ok(pulled < 2 * 1_048_576, "It read on after the limit");
    const announced = await send(w, contract, {
      body: "{}",
      headers: { "content-length": "1048577" },
    });
    assert.equal(await check(contract, announced, contract.path), "body_too_large");
  }
});

/** Routes whose path says everything. */
const BARE: readonly string[] = [
  ...["/peers/:id/touch", "/peers/:id/link", "/peers/:id/interrupt", "/peers/:id/kill"],
  ...["/jobs/:id/run", "/jobs/:id/retry", "/jobs/:id/pause", "/jobs/:id/resume"],
  ...["/limits/:id/resume", "/peers/:id/wake"],
];

Deno.test("no value in any field causes an internal error", async () => {
  await using w = await createPeers();
  for (const contract of contracts(w).filter(({ body }) => body !== undefined)) {
    const { peer_id, ...same } = VALID_BODIES; // Registers the same session again and again.
    const whole = contract.path === "/peers" ? same : { ...same, peer_id };
    const fields = fieldsOf(contract.body);
    assert.ok(fields.length > 0 || BARE.includes(contract.path), contract.path);
    for (const field of fields) {
      for (const value of VALUES) {
        const body = JSON.stringify({ ...whole, [field]: value });
        const requestLine = `${contract.method} ${contract.path} ${field}: ${
          JSON.stringify(value)
        }`;
        await check(contract, await send(w, contract, { body }), requestLine.slice(0, 200));
      }
    }
  }
  assert.deepEqual(w.logged, []);
});

Deno.test("keys of the object prototype are keys like any other", async () => {
  await using w = await createPeers();
  const body = `{"__proto__": {"to_peer": "bob"}, "constructor": {"prototype": {"text": "x"}},
    "from_peer": "ada", "text": "Hi", "metadata": {"__proto__": {"polluted": true}}}`;
  for (const contract of contracts(w).filter(({ body }) => body !== undefined)) {
    await check(contract, await send(w, contract, { body }), contract.path);
  }
  assert.equal("polluted" in {}, false);
});

Deno.test("no path parameter and no query causes an internal error", async () => {
  await using w = await createPeers();
  const odd = ["%00", "%ud800", "%ff", "%", "..", "%2e%2e", "%F0%9F%A6%8A", "__proto__", "'"];
  for (const contract of contracts(w)) {
    const keys = ["", "unknown", ...fieldsOf(contract.query)];
    for (const value of [...odd, "9".repeat(400)]) {
      const path = contract.path.replaceAll(/:\w+/g, value) as `/${string}`;
      for (const key of keys) {
        const asked = { method: contract.method, path: `${path}?${key}=${value}` as const };
        const body = contract.body ? { body: JSON.stringify(VALID_BODIES) } : {};
        const response = await w.clock.during(send(w, asked, body));
        await check(contract, response, `${asked.path.slice(0, 80)} ${key}`);
      }
    }
  }
  assert.deepEqual(w.logged, []);
});

Deno.test("a wrong method is 405, and names the right one", async () => {
  await using w = await createPeers();
  const known = new Map<string, Set<string>>();
  for (const { path, method } of contracts(w)) {
    known.set(path, (known.get(path) ?? new Set()).add(method));
  }
  for (const [path, methods] of known) {
    for (const method of ["PUT", "PATCH", "POST", "DELETE", "GET"].filter((m) => !methods.has(m))) {
      const answer = await send(w, { path, method } as Contract);
      const { error } = await answer.json();
      const other = path.includes("/:id") || /^\/(asks|inbox|peers|deliveries)\//.test(path);
      if (other && error !== "method_not_allowed") continue; // Another route has this path.
      assert.deepEqual([answer.status, error], [405, "method_not_allowed"], `${method} ${path}`);
      // `/mcp` itself refuses other methods.
      const allowed = path === "/mcp"
        ? ["POST"]
        : [...methods, ...(methods.has("GET") ? ["HEAD"] : [])];
      const named = answer.headers.get("allow")?.split(", ") ?? [];
      if (other) assert.ok(allowed.every((each) => named.includes(each)), path);
      else assert.deepEqual(named, allowed.sort(), path);
    }
  }
});

Deno.test("an unknown route is 404, whatever its form", async () => {
  await using w = world();
  for (const path of ["/nowhere", "/peers/", "/peers/x/y/z", "//peers", "/PEERS", "/ask%00"]) {
    const answer = await get(w, path);
    assert.deepEqual([answer.status, answer.error], [404, "not_found"], path);
  }
});

Deno.test("a name of two peers is ambiguous wherever a peer is expected", async () => {
  await using w = await createPeers();
  await addPeer(w, "bob", { circle: "there" });
  const { peer_id } = await addPeer(w, "eve");
  const { correlation_id } = await post(w, "/ask", {
    from_peer: "cli",
    to_peer: peer_id,
    text: "Hi",
  });
  const body = { ...VALID_BODIES, correlation_id, circle: undefined, from_peer: "cli" };
  const cases = [
    ["/ask", body],
    ["/notify", body],
    ["/broadcast", { ...body, from_peer: "bob" }],
    ["/ack", { ...body, from_peer: "bob" }],
    ["/decline", { ...body, from_peer: "bob" }],
    [`/asks/${correlation_id}/wait`, body],
    [`/asks/${correlation_id}/cancel`, body],
    ["/peer/unregister", body],
    ["/peers/bob/touch", {}],
  ] as const;
  for (const [path, given] of cases) {
    const answer = await post(w, path, given);
    assert.deepEqual([answer.status, answer.error], [409, "ambiguous_peer"], path);
    assert.equal(answer.candidates.length, 2);
  }
});
