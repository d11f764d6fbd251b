/** The OpenAPI document matches the contracts exactly. */

import assert from "node:assert/strict";
import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Instant, Name, QueryNumber, Sender } from "kit/core/schema.ts";
import { type ApiInfo, describedPath, openapi } from "kit/http/openapi.ts";
import { type ProblemCode, PROBLEMS, toPublicCode } from "kit/core/problem.ts";
import { world } from "../../support/world.ts";

const wait = contract({
  id: "asks.wait",
  method: "POST",
  path: "/asks/:id/wait",
  summary: "Wait for the answer",
  access: "caller",
  tunnel: "never",
  params: z.object({ id: z.string() }),
  query: z.object({ limit: QueryNumber.optional(), name: Name }),
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
};

interface Operation {
  operationId: string;
  requestBody?: unknown;
  parameters?: { name: string; in: string; required: boolean }[];
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
    const { id, method, body, bodyType, fails = [] } = contract;
    assert.ok(!ids.has(id), `${id} is there twice`);
    ids.add(id);
    const operation = operationOf(served, describedPath(contract), method.toLowerCase());
    assert.equal(operation.operationId, id);
    assert.equal("requestBody" in operation, (body ?? bodyType) !== undefined, id);
    for (const code of fails) {
      const listed = operation.responses[PROBLEMS[code].status]?.description.split(", ");
      assert.ok(listed?.includes(toPublicCode(code)), `${id} does not list ${code}`);
    }
  }
  const codes = served.components.schemas.Problem.properties.error.enum;
  const known = new Set((Object.keys(PROBLEMS) as ProblemCode[]).map(toPublicCode));
  assert.deepEqual(codes, [...known].toSorted());
});

Deno.test("every example is valid by the schema of its contract", async () => {
  await using w = world();
  const served = await (await w.fetch("/openapi.json")).json();
  for (const { contract } of w.daemon.routes) {
    const { id, body, returns, responseType, redirects_to } = contract;
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
    check(returns, responses["200"].content["application/json"].example, "response");
  }
});
