/** The OpenAPI document matches the contracts exactly. */

import assert from "node:assert/strict";
import * as z from "zod";
import { OK, Ok } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { route } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import { Instant, Name, queryInteger, Sender } from "kit/core/schema.ts";
import { type ApiInfo, describedPath, openapi } from "kit/http/openapi.ts";
import { Problem, type ProblemCode, PROBLEMS, toPublicCode } from "protocol/problems.ts";
import { world } from "../../support/world.ts";

const wait = contract({
  id: "asks.wait",
  method: "POST",
  path: "/asks/:id/wait",
  summary: "Wait for the answer",
  access: "caller",
  tunnel: "never",
  params: z.object({ id: z.string() }),
  query: z.object({ limit: queryInteger().optional(), name: Name }),
  body: z.object({ until: Instant, seconds: z.number().default(45) }),
  returns: z.object({ at: Instant, note: z.string().optional() }),
  fails: ["unknown_ask", "not_the_asker"],
});

const INFO: ApiInfo = {
  title: "Mesh",
  version: "1",
  description: "A test",
  server: { url: "http://127.0.0.1:{port}", port: "1" },
  tags: [{ name: "All", description: "All routes" }],
  tagOf: () => "All",
  samples: { name: "api" },
  bodies: {},
  problems: PROBLEMS,
};

interface Operation {
  operationId: string;
  requestBody?: unknown;
  parameters?: {
    name: string;
    in: string;
    required: boolean;
    schema: Record<string, unknown>;
  }[];
  responses: Record<string, { description: string; content: Record<string, { schema: Shape }> }>;
}
type Shape = { properties: Record<string, Record<string, unknown>>; required: string[] };

function operationOf(document: ReturnType<typeof openapi>, path: string, method: string) {
  const operation = document.paths[path]?.[method];
  assert.ok(operation, `${method} ${path} is missing`);
  return operation as Operation;
}

const operation = () => operationOf(openapi(INFO, [wait]), "/asks/{id}/wait", "post");

Deno.test("a contract becomes an operation with its id and its parameters", () => {
  const { operationId, parameters = [] } = operation();
  assert.equal(operationId, "asks.wait");
  assert.deepEqual(parameters.map(({ name, in: place, required }) => [name, place, required]), [
    ["id", "path", true],
    ["limit", "query", false],
    ["name", "query", true],
  ]);
});

Deno.test("schemas describe the body and the response with every field, and instants as text", () => {
  const { requestBody, responses } = operation();
  const body = (requestBody as Operation["responses"][""]).content["application/json"]?.schema;
  assert.deepEqual(body?.required, ["until"]);
  const answer = responses["200"]?.content["application/json"]?.schema;
  assert.ok(answer?.required.includes("at"));
});

Deno.test("a route that leads elsewhere is described with its status and its location", () => {
  const { body: _, ...page } = wait;
  const document = openapi(INFO, [{ ...page, redirects_to: "/home" }]);
  const { 303: redirect, 200: done } = operationOf(document, "/asks/{id}/wait", "post").responses;
  assert.deepEqual(redirect, {
    description: "See the other page",
    headers: { Location: { schema: { const: "/home" } } },
  });
  assert.equal(done, undefined);
});

Deno.test("a body is required if the route refuses one without fields", () => {
  const title = z.string().optional();
  const refused = z.object({}).transform(() => {
    throw new Problem("no_target", {});
  });
  const bodies: readonly [z.ZodType, boolean][] = [
    [z.object({ title }), false],
    [z.object({ title: z.string() }), true],
    [z.object({ title, text: title }).refine(({ title, text }) => title ?? text), true],
    [refused, true],
  ];
  for (const [body, isRequired] of bodies) {
    const document = openapi(INFO, [{ ...wait, body }]);
    const { requestBody } = operationOf(document, "/asks/{id}/wait", "post");
    assert.partialDeepStrictEqual(requestBody, { required: isRequired });
  }
});

Deno.test("a whole number in a query is described as one, with its bounds", () => {
  const query = z.object({ limit: queryInteger(1, 500).default(50), after: queryInteger() });
  const document = openapi(INFO, [{ ...wait, query }]);
  const { parameters = [] } = operationOf(document, "/asks/{id}/wait", "post");
  const max = 999_999_999_999_999;
  assert.deepEqual(parameters.map(({ schema }) => schema).slice(1), [
    { type: "integer", minimum: 1, maximum: 500 },
    { type: "integer", minimum: -max, maximum: max },
  ]);
});

/** Bodies with null in one place; `taken` is true if a route accepts the body. */
// deno-fmt-ignore
const NULLS: readonly [what: string, body: unknown, taken: boolean][] = [
  ["an optional field",             { needed: 1, note: null },                     true],
  ["a field with a default",        { needed: 1, kind: null },                     true],
  ["a list with a default",         { needed: 1, names: null },                    true],
  ["a field in an object",          { needed: 1, inner: { note: null, id: "x" } }, true],
  ["a field in a list of objects",  { needed: 1, list: [{ note: null }] },         true],
  ["a field that is nullable",      { needed: 1, maybe: null },                    true],
  ["a required field",              { needed: null },                              false],
  ["a required field in an object", { needed: 1, inner: { note: "x", id: null } }, false],
  ["an element of a list",          { needed: 1, names: [null] },                  false],
  ["the text of a message",         { needed: 1, text: null },                     false],
  ["a duration",                    { needed: 1, wait_seconds: null },             false],
];

for (const [what, body, taken] of NULLS) {
  Deno.test(`null in ${what} is ${taken ? "taken" : "refused"} by a route and by its description`, async () => {
    const inner = z.object({ note: z.string().optional(), id: z.string().default("x") });
    const { params: _params, query: _query, ...base } = wait;
    const posted = contract({
      ...base,
      path: "/asks",
      body: z.object({
        needed: z.number(),
        note: z.string().optional(),
        kind: z.enum(["ask", "notify"]).default("ask"),
        names: z.array(z.string()).default([]),
        inner: inner.required({ id: true }).optional(),
        list: z.array(inner).optional(),
        maybe: z.string().nullable().optional(),
        text: z.string().optional(),
        wait_seconds: z.number().optional(),
      }),
      returns: Ok,
    });
    const handle = serve([route(posted, () => OK)], {
      admit: () => undefined,
      authorize: () => ({ remote: undefined, human: false, authorized: true, holds_token: false }),
      whenDurable: () => undefined,
      error: () => undefined,
    });
    const init = { method: "POST", body: JSON.stringify(body) };
    const { status } = await handle(new Request("http://127.0.0.1/asks", init));
    assert.equal(status, taken ? 200 : 422);
    const document = openapi(INFO, [posted]);
    const { requestBody } = operationOf(document, "/asks", "post");
    const described = (requestBody as Operation["responses"][""]).content["application/json"];
    const schema = z.fromJSONSchema(described?.schema as z.core.JSONSchema.JSONSchema);
    assert.equal(schema.safeParse(body).success, taken);
  });
}

Deno.test("a pattern needs no Unicode classes, which few readers of JSON schemas know", () => {
  const body = z.object({ from_peer: Sender });
  const text = JSON.stringify(openapi(INFO, [{ ...wait, body }]));
  assert.match(text, /u001f/);
  assert.doesNotMatch(text, /\\[pP]\{/);
});

Deno.test("every reference in the document resolves", () => {
  const document = openapi(INFO, [wait]);
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g);
  for (const [, reference = ""] of references) {
    const steps = reference.replace("#/", "").split("/");
    const found = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown>)?.[step],
      document,
    );
    assert.ok(found, `${reference} leads nowhere`);
  }
});

Deno.test("every refusal of a contract is under its status, with those of the guard", () => {
  const { responses } = operation();
  assert.match(responses["404"]?.description ?? "", /unknown_ask/);
  assert.match(responses["403"]?.description ?? "", /forbidden_host.*not_the_asker/);
  for (const status of [400, 401, 413, 422, 500, 503]) assert.ok(responses[status], String(status));
});

Deno.test("the daemon's document has every contract and refusal, and each id once", async () => {
  await using w = world();
  const contracts = w.daemon.routes.map(({ contract }) => contract);
  const served = await (await w.fetch("/openapi.json")).json();
  const ids = new Set<string>();
  for (const contract of contracts) {
    const { id, method, body, bodyType, rawBody, fails = [] } = contract;
    assert.ok(!ids.has(id), `${id} is there twice`);
    ids.add(id);
    const operation = operationOf(served, describedPath(contract), method.toLowerCase());
    assert.equal(operation.operationId, id);
    assert.equal("requestBody" in operation, (body ?? bodyType ?? rawBody) !== undefined, id);
    for (const code of fails) {
      const listed = operation.responses[INFO.problems[code]?.status ?? 0]
        ?.description.split(", ");
      assert.ok(listed?.includes(toPublicCode(code)), `${id} does not list ${code}`);
    }
  }
  const codes = served.components.schemas.Problem.properties.error.enum;
  const known = new Set((Object.keys(PROBLEMS) as ProblemCode[]).map(toPublicCode));
  assert.deepEqual(codes, [...known].toSorted());
});

Deno.test("/mcp is described with its refusals: no message, another media type, another method", async () => {
  await using w = world();
  const { paths } = await (await w.fetch("/openapi.json")).json();
  const { post, get, delete: remove } = paths["/mcp"];
  for (const status of [200, 202, 400, 413, 415]) assert.ok(post.responses[status], `${status}`);
  for (const { responses } of [get, remove]) {
    assert.ok(responses[405]);
    assert.equal(responses[200], undefined);
  }
  const refusals = [["{", "application/json", 400], ["{}", "text/plain", 415]] as const;
  for (const [body, type, status] of refusals) {
    const headers = { "content-type": type };
    const answer = await w.fetch("/mcp", { method: "POST", body, headers });
    assert.equal(answer.status, status);
    const { schema } = post.responses[status].content["application/json"];
    assert.ok(z.fromJSONSchema(schema).safeParse(await answer.json()).success);
  }
});

Deno.test("a whole number of a query is taken up to its described bounds, and not beyond", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const { paths } = await (await w.fetch("/openapi.json")).json();
  const isRefused = async (path: string, name: string, value: number) => {
    const answer = await w.fetch(`${path}?${name}=${value}`);
    return answer.status === 422 && JSON.stringify(await answer.json()).includes(`"${name}"`);
  };
  let bounded = 0;
  for (const [path, { get }] of Object.entries<{ get?: Operation }>(paths)) {
    for (const { name, schema } of path.includes("{") ? [] : get?.parameters ?? []) {
      assert.ok(!String(schema["pattern"]).startsWith("^-?\\d"), `${path}: ${name}`);
      if (schema["type"] !== "integer") continue;
      const [minimum, maximum] = [Number(schema["minimum"]), Number(schema["maximum"])];
      for (const value of [minimum - 1, minimum, maximum, maximum + 1]) {
        const isOutside = value < minimum || value > maximum;
        assert.equal(await isRefused(path, name, value), isOutside, `${path}: ${name}=${value}`);
      }
      bounded++;
    }
  }
  assert.ok(bounded > 8);
});

Deno.test("every example is valid by the schema of its contract", async () => {
  await using w = world();
  const served = await (await w.fetch("/openapi.json")).json();
  for (const { contract } of w.daemon.routes) {
    const { id, body, returns, responseType, redirects_to, fails = [] } = contract;
    const { requestBody, responses } = served.paths[describedPath(contract)][
      contract.method.toLowerCase()
    ];
    const check = (schema: z.ZodType, example: unknown, what: string) => {
      assert.notEqual(example, undefined, `${id} has no example of its ${what}`);
      const { error } = schema.safeParse(example);
      assert.ok(!error, `${id}, ${what}: ${error && z.prettifyError(error)}`);
    };
    if (body) check(body, requestBody.content["application/json"].example, "body");
    if (responseType !== undefined || redirects_to !== undefined) continue;
    if (fails.includes("method_not_allowed")) {
      assert.equal(responses["200"], undefined, `${id} always refuses`);
      continue;
    }
    check(returns, responses["200"].content["application/json"].example, "response");
  }
});
