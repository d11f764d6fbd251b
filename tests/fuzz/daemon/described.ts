/** Requests that the description of an API allows. */

import fc from "fast-check";
import * as z from "zod";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import type { JsonSchemaType } from "@modelcontextprotocol/server";
import type { FuzzRequest, Operation } from "./operations.ts";

type Schema = Readonly<Record<string, unknown>>;

const Schema = z.record(z.string(), z.unknown());
const Described = z.object({
  parameters: z.array(
    z.object({ name: z.string(), in: z.string(), required: z.boolean(), schema: Schema }),
  ).default([]),
  requestBody: z.object({
    required: z.boolean().default(false),
    content: z.record(z.string(), z.object({ schema: Schema })),
  }).optional(),
});
const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), Described)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
});
type Description = z.output<typeof Description>;

const ITEMS_MAX = 3;
const CHARS_MAX = 12;
const DEPTH_MAX = 5;
const INSTANTS = ["2026-05-04T09:30:00.000Z", "2027-01-01T00:00:00+02:00"];
/** Texts of many forms, of which a pattern keeps some. */
const TEXTS = [
  "api",
  "a",
  "1",
  "%1",
  "/work/api",
  "~/web",
  "Ctrl-c",
  "x.y_z",
  "two words",
  "a\nb",
  "a\u0007b",
  "qd-1",
  "pending",
  "dm-000000000001",
  "https://example.org/a",
  "20-turns",
  "8h",
  "0".repeat(64), // A digest.
];

/** A request of each operation, whose parameters and body match their schemas. */
export function describedRequestsOf(
  document: unknown,
  operations: readonly Operation[],
  ids: readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const description = Description.parse(document);
  const id = fc.nat().map((at) => ids[at % ids.length] ?? "api");
  const values = new Values(description, id);
  const requests = operations.flatMap((operation) => {
    const { method, path, media_type } = operation;
    const described = description.paths[path]?.[method.toLowerCase()];
    if (!described || media_type?.startsWith("multipart")) return [];
    const { parameters, requestBody } = described;
    const query = parameters.filter((parameter) => parameter.in === "query");
    const pairs = query.map(({ name, required, schema }) => {
      const value = values.of(schema).map((value) => [name, String(value)] as const);
      return required ? value : fc.option(value, { nil: undefined, freq: 2 });
    });
    const params = parameters.filter((parameter) => parameter.in === "path")
      .map(({ schema }) => values.of(schema).map(String).filter((text) => !/^\.{0,2}$/.test(text)));
    const schema = requestBody?.content["application/json"]?.schema;
    const body = schema
      ? values.of(schema).map((value) => JSON.stringify(value))
      : fc.constant(undefined);
    return [fc.record({
      operation: fc.constant(operation),
      path: fc.tuple(fc.tuple(...params), fc.tuple(...pairs))
        .map(([params, pairs]) =>
          fillPath(path, params, pairs.filter((pair) => pair !== undefined))
        ),
      headers: fc.constant([]),
      body: requestBody?.required ? body : fc.option(body, { nil: undefined, freq: 2 }),
    })];
  });
  return fc.oneof(...requests);
}

function fillPath(
  path: string,
  params: readonly string[],
  query: readonly (readonly [string, string])[],
): string {
  let at = 0;
  const whole = path.replace(/\{\w+\}/g, () => encodeURIComponent(params[at++] ?? ""));
  const search = new URLSearchParams(query.map(([name, value]) => [name, value]));
  return query.length === 0 ? whole : `${whole}?${search}`;
}

/** Values that match JSON schemas: made of their types, and checked against the whole schema. */
class Values {
  readonly #ajv = new AjvJsonSchemaValidator();
  readonly #components: Description["components"];
  readonly #id: fc.Arbitrary<string>;

  constructor({ components }: Description, id: fc.Arbitrary<string>) {
    this.#components = components;
    this.#id = id;
  }

  of(schema: Schema): fc.Arbitrary<unknown> {
    const whole: Schema & JsonSchemaType = { ...schema, components: this.#components };
    const isValid = this.#ajv.getValidator(whole);
    return this.#made(schema, 0).filter((value) => isValid(value).valid);
  }

  #made(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const { $ref, enum: choices, anyOf, oneOf, type } = schema;
    if (typeof $ref === "string") {
      const name = $ref.slice($ref.lastIndexOf("/") + 1);
      return this.#made(this.#components.schemas[name] ?? {}, depth + 1);
    }
    if ("const" in schema) return fc.constant(schema["const"]);
    if (Array.isArray(choices)) return fc.constantFrom(...choices);
    const options = anyOf ?? oneOf;
    if (Array.isArray(options) && type === undefined) {
      return fc.oneof(...options.map((option) => this.#made(option, depth + 1)));
    }
    if (Array.isArray(type)) {
      return fc.oneof(...type.map((each) => this.#made({ ...schema, type: each }, depth)));
    }
    return this.#ofType(schema, depth);
  }

  #ofType(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const { type, minimum = -1000, maximum = 1_000_000 } = schema;
    switch (type) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "string":
        return this.#text(schema);
      case "integer":
        return fc.integer({
          min: Math.max(Number(minimum), -(2 ** 31)),
          max: Math.min(Number(maximum), 2 ** 31 - 1),
        });
      case "number":
        return fc.integer({ min: Math.ceil(Number(minimum)), max: Math.floor(Number(maximum)) });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default:
        return fc.oneof(this.#id, fc.integer(), fc.boolean(), fc.constant({ a: [1] }));
    }
  }

  #object(schema: Schema, depth: number): fc.Arbitrary<unknown> {
    const properties = Object.entries(Schema.catch({}).parse(schema["properties"]));
    const required = z.array(z.string()).catch([]).parse(schema["required"]);
    const keys = properties.filter(([name]) => depth < DEPTH_MAX || required.includes(name));
    const model = Object.fromEntries(
      keys.map(([name, inner]) => [name, this.#made(Schema.parse(inner), depth + 1)]),
    );
    const fixed = fc.record(model, {
      requiredKeys: keys.map(([name]) => name).filter((name) => required.includes(name)),
    });
    const others = schema["additionalProperties"];
    if (typeof others !== "object" || others === null) return fixed;
    const entries = fc.dictionary(this.#id, this.#made(Schema.parse(others), depth + 1), {
      maxKeys: ITEMS_MAX,
    });
    return fc.tuple(entries, fixed).map(([more, own]) => ({ ...more, ...own }));
  }

  #array({ items, minItems = 0, maxItems = ITEMS_MAX }: Schema, depth: number) {
    const minLength = Number(minItems);
    const maxLength = Math.max(minLength, Math.min(Number(maxItems), ITEMS_MAX));
    return fc.array(this.#made(Schema.catch({}).parse(items), depth + 1), { minLength, maxLength });
  }

  #text({ format, minLength = 0, maxLength = CHARS_MAX }: Schema): fc.Arbitrary<string> {
    if (format === "date-time") return fc.constantFrom(...INSTANTS);
    if (format === "date") return fc.constantFrom(...INSTANTS.map((at) => at.slice(0, 10)));
    const length = {
      minLength: Number(minLength),
      maxLength: Math.max(Number(minLength), Math.min(Number(maxLength), CHARS_MAX)),
    };
    return fc.oneof(
      this.#id,
      fc.constantFrom(...TEXTS),
      fc.string({ ...length, unit: "grapheme" }),
    );
  }
}
