/** Responses compared with what `GET /openapi.json` promises. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, ask, get, notify } from "../../../support/daemon/peer_clients.ts";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: unknown;
}

/** The faults of a response: missing fields, and undocumented ones. */
function faults(value: unknown, schema: Schema, schemas: Record<string, Schema>): string[] {
  const within = (inner: unknown, of: Schema) => faults(inner, of, schemas);
  if (schema.$ref) return within(value, schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  if (value === null || typeof value !== "object") return [];
  if (schema.anyOf) {
    const all = schema.anyOf.map((option) => within(value, option));
    return all.some((some) => some.length === 0) ? [] : all.flat();
  }
  if (Array.isArray(value)) return value.flatMap((item) => within(item, schema.items ?? {}));
  const { properties, required = [], additionalProperties: open } = schema;
  if (!properties) return [];
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const more = Object.keys(value).filter((name) => !open && !Object.hasOwn(properties, name));
  const inner = Object.entries(value).flatMap(([name, field]) =>
    within(field, properties[name] ?? {})
  );
  return [...missing.map((name) => `no ${name}`), ...more.map((name) => `and ${name}`), ...inner];
}

Deno.test("a response has the fields that the document requires, and no others", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "api");
  await addPeer(w, "web", { provenance: { initiator: "user", addressable_reason: "so it is" } });
  const question = { kind: "choice", prompt: "Go?", options: [{ id: "y", title: "Yes" }] };
  const id = await ask(w, "api", "web", "Ready?", { question });
  const { delivery_id } = await notify(w, "api", "web");
  await ask(w, "api", "sam");
  const [{ item_id }] = (await get(w, "/inbox")).items;
  const { paths, components } = await get(w, "/openapi.json");
  const answers: readonly [string, string, string, unknown?][] = [
    ["get", "/health", "/health"],
    ["get", "/peers", "/peers"],
    ["get", "/peers/{id}", "/peers/web"],
    ["get", "/asks", "/asks"],
    ["get", "/asks/{id}", `/asks/${id}`],
    ["get", "/asks/pending", "/asks/pending?peer_id=web"],
    ["get", "/messages", "/messages"],
    ["get", "/messages", "/messages?q=ready"],
    ["get", "/messages/{id}", `/messages/${delivery_id}`],
    ["get", "/traces/{trace_id}", `/traces/${id}`],
    ["get", "/deliveries", "/deliveries"],
    ["get", "/deliveries/pending", "/deliveries/pending?peer_id=web"],
    ["get", "/inbox", "/inbox"],
    ["get", "/inbox/{id}", `/inbox/${item_id}`],
    ["get", "/events", "/events"],
    ["post", "/ask", "/ask", { from_peer: "web", to_peer: "api", text: "?" }],
    ["post", "/ask", "/ask", { from_peer: "web", to_peer: "sam", text: "?" }],
    ["post", "/notify", "/notify", { from_peer: "web", to_peer: "api", text: "!" }],
    ["post", "/notify", "/notify", { from_peer: "web", to_peer: "sam", text: "!" }],
    ["post", "/broadcast", "/broadcast", { from_peer: "web", text: "!" }],
    ["post", "/answer", "/answer", { correlation_id: id, option_id: "y", from_peer: "web" }],
    ["post", "/asks/{id}/wait", `/asks/${id}/wait`, { peer_id: "api", timeout_seconds: 0 }],
  ];
  for (const [method, path, at, body] of answers) {
    const response = method === "get" ? await w.fetch(at) : await w.post(at, body);
    assert.equal(response.status, 200, at);
    const { schema } = paths[path][method].responses[200].content["application/json"];
    assert.deepEqual(faults(await response.json(), schema, components.schemas), [], at);
  }
});
