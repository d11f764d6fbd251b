/** Generates an OpenAPI 3.1 document from contracts. */

import * as z from "zod";
import { type Contract, NO_ACTOR, refusesItsMethod } from "kit/http/contract.ts";
import { exampleOf, type JsonSchema, type Samples } from "kit/http/examples.ts";
import { mayBeNull } from "kit/http/route.ts";
import { type ProblemRow, Refusal } from "kit/core/problem.ts";

type ListedProblem = Pick<ProblemRow, "status" | "publicCode">;

/** Parts of an API description that its contracts do not have. */
export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** The address of the server; `{port}` is a variable. */
  readonly server: { readonly url: string; readonly port: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** The tag of a route, by its id. */
  tagOf(id: string): string;
  readonly samples: Samples;
  /** The table that has every problem of the contracts. */
  readonly problems: Readonly<Record<string, ListedProblem>>;
  /** Example bodies by the id of the route, instead of bodies made of samples. */
  readonly bodies: Readonly<Record<string, unknown>>;
}

/** The refusals that every route may return. */
const PROBLEMS_OF_ALL = [
  "forbidden_host",
  "forbidden_origin",
  "unauthorized",
  "internal",
  "storage_failed",
  "storage_unclear",
] as const;

/** The body of a file upload. Every other body is JSON. */
const FILE_FORM = {
  type: "object",
  required: ["file"],
  properties: { file: { type: "string", format: "binary" } },
};
/** The body of every refusal. */
const PROBLEM_CONTENT = {
  "application/json": { schema: { $ref: "#/components/schemas/Problem" } },
};

type Schemas = Record<string, unknown>;

/** The header that idempotent routes accept (contract 1). */
const KEY_HEADER = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Kept for 24 hours: a repetition is answered with the same ids but not executed",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};
const REPLAY_HEADER = {
  "Idempotent-Replay": {
    description: "The request was executed before; this is its response, with the current state",
    schema: { const: "true" },
  },
};

/** A document in the making. */
interface Draft {
  readonly info: ApiInfo;
  readonly schemas: Schemas;
}

export function openapi(info: ApiInfo, contracts: readonly Contract[]) {
  const { title, version, description, server, tags } = info;
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Schemas = { Problem: problemSchema(info) };
  // Schemas that a later route names may be used in the examples of an earlier one.
  for (let round = 0; round < 2; round++) {
    for (const contract of contracts) {
      const item = paths[describedPath(contract)] ??= {};
      item[contract.method.toLowerCase()] = operation(contract, { info, schemas });
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title,
      version,
      description,
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "Agent Mesh" },
    },
    servers: [{
      url: server.url,
      description: "The daemon on this machine",
      variables: { port: { default: server.port, description: "daemon.port" } },
    }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "The token of `daemon.auth_token`, which `mesh token` prints. Without one, " +
            "the programs of the daemon's own user may call.",
        },
      },
    },
    security: [{}, { token: [] }],
  };
}

/** The path of a contract in the description, with its parameters in braces. */
export function describedPath({ path, described_path = path }: Contract): string {
  return described_path.replace(/:(\w+)/g, "{$1}");
}

/** The example of a request's body with this schema. */
function exampleBody({ id }: Contract, schema: JsonSchema, { info, schemas }: Draft): unknown {
  const given = info.bodies[id];
  if (given !== undefined) return given;
  const needed = schema["required"];
  const complete = !Array.isArray(needed) || needed.length === 0;
  return exampleOf(schema, { samples: info.samples, schemas, complete });
}

function operation(contract: Contract, draft: Draft) {
  const { id, summary, access, tunnel } = contract;
  const parameters = [
    ...toParameters(contract, { part: "params", location: "path", draft }),
    ...toParameters(contract, { part: "query", location: "query", draft }),
    ...(contract.idempotent ? [KEY_HEADER] : []),
  ];
  const requestBody = toRequestBody(contract, draft);
  return {
    operationId: id,
    tags: [draft.info.tagOf(id)],
    summary,
    "x-access": access,
    "x-tunnel": tunnel,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...toResponses(contract, draft),
      ...toErrorResponses(contract, draft.info),
      ...toOtherResponses(contract, draft),
    },
  };
}

function toResponses(contract: Contract, { info, schemas }: Draft): Record<string, unknown> {
  const { returns, responseType = "application/json", idempotent } = contract;
  if (refusesItsMethod(contract)) return {};
  if (responseType === "websocket") {
    return {
      101: { description: "The connection carries frames, one JSON object each" },
      default: { description: "A request that is no upgrade is refused", content: PROBLEM_CONTENT },
    };
  }
  if (contract.redirects_to !== undefined) {
    const location = { schema: { const: contract.redirects_to } };
    return { 303: { description: "See the other page", headers: { Location: location } } };
  }
  const schema = jsonSchema(returns, "response", schemas);
  const example = exampleOf(schema, { samples: info.samples, schemas, complete: false });
  const json = { "application/json": { schema, example } };
  const isJson = responseType === "application/json";
  return {
    200: {
      description: "Done",
      ...(idempotent && { headers: REPLAY_HEADER }),
      content: isJson ? json : { [responseType]: { schema: { type: rawTypeOf(responseType) } } },
    },
  };
}

/** JSON of another media type is an object; the description shows any other body as text. */
function rawTypeOf(media_type: string): "object" | "string" {
  return media_type.endsWith("+json") ? "object" : "string";
}

function toOtherResponses(
  { otherResponses = {} }: Contract,
  { schemas }: Draft,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(otherResponses).map(([status, { description, returns }]) => {
      const schema = returns && jsonSchema(returns, "response", schemas);
      return [status, {
        description,
        ...(schema && { content: { "application/json": { schema } } }),
      }];
    }),
  );
}

function toErrorResponses(
  { params, query, body, actor = NO_ACTOR, idempotent, fails = [] }: Contract,
  { problems }: ApiInfo,
): Record<string, unknown> {
  const form: string[] = [
    ...(body ? ["bad_json", "body_too_large", "body_too_slow"] as const : []),
    ...(params || query || body ? ["invalid_request"] as const : []),
    ...(actor === NO_ACTOR
      ? []
      : ["not_your_identity", "certificate_mismatch", "budget_of_other_name"] as const),
    ...(idempotent ? ["idempotency_mismatch", "idempotency_in_progress"] as const : []),
  ];
  const codes = new Map<number, string[]>();
  for (const code of new Set([...PROBLEMS_OF_ALL, ...form, ...fails])) {
    const { status, publicCode } = mustGet(problems, code);
    codes.getOrInsertComputed(status, () => []).push(publicCode || code);
  }
  return Object.fromEntries(
    [...codes].map(([status, entry]) => {
      const description = [...new Set(entry)].toSorted().join(", ");
      return [status, { description, content: PROBLEM_CONTENT }];
    }),
  );
}

/** Many readers of JSON schemas know no Unicode classes; the text is that of JSON. */
const NOT_CONTROL = String.raw`\\P{Cc}`;
const PORTABLE_NOT_CONTROL = String.raw`[^\\u0000-\\u001f\\u007f-\\u009f]`;

interface ParameterSource {
  readonly part: "params" | "query";
  readonly location: "path" | "query";
  readonly draft: Draft;
}

function toParameters(contract: Contract, { part, location, draft }: ParameterSource) {
  const { info: { samples }, schemas } = draft;
  const schema = contract[part];
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "parameters", schemas) as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  const group = `${contract.id.split(".")[0]}.`;
  const own = Object.entries(samples).filter(([key]) => key.startsWith(group))
    .map(([key, sample]) => [key.slice(group.length), sample]);
  const named = { ...samples, ...Object.fromEntries(own) };
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, entry]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    ...(typeof entry["description"] === "string" && { description: entry["description"] }),
    schema: entry,
    example: exampleOf(entry, { samples: named, schemas, complete: false }, name),
  }));
}

function mustGet(problems: ApiInfo["problems"], code: string): ListedProblem {
  const found = problems[code];
  if (!found) throw new Error(`The table of problems has no ${code}`);
  return found;
}

function problemSchema({ problems }: ApiInfo) {
  const codes = new Set(
    Object.entries(problems).map(([code, { publicCode }]) => publicCode || code),
  );
  return {
    type: "object",
    required: ["error", "detail"],
    properties: {
      error: { type: "string", enum: [...codes].toSorted() },
      detail: { type: "string" },
      hint: { type: "string" },
    },
  };
}

/** True if a body without fields is refused. */
function refusesEmpty(body: z.ZodType): boolean {
  try {
    return !body.safeParse({}).success;
  } catch (error) {
    if (error instanceof Refusal) return true;
    throw error;
  }
}

/** The request body; undefined without one. An empty JSON body is read as `{}`. */
function toRequestBody(contract: Contract, draft: Draft) {
  const { body, rawBody, bodyType } = contract;
  if (bodyType) return { required: true, content: { [bodyType]: { schema: FILE_FORM } } };
  if (rawBody) {
    const schema = jsonSchema(rawBody, "parameters", draft.schemas);
    return { required: true, content: { "application/json": { schema } } };
  }
  if (!body) return undefined;
  const schema = jsonSchema(body, "body", draft.schemas);
  const example = exampleBody(contract, schema, draft);
  return { required: refusesEmpty(body), content: { "application/json": { schema, example } } };
}

/** Marks fields for `allowNulls`, which runs once the whole schema is complete. */
const NULLABLE = "x-nullable";

/** The fields of a body in which null means absent (see `readRequest`). */
function nullableFields(shape: Readonly<Record<string, z.core.$ZodType>>): string[] {
  return Object.entries(shape).flatMap(([name, entry]) => {
    const isOptional = entry._zod.optin !== undefined && mayBeNull(name);
    return isOptional && !z.safeParse(entry, null).success ? [name] : [];
  });
}

/** Allows null in the marked fields of a schema and of those within it. */
function allowNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(allowNulls);
  if (typeof value !== "object" || value === null) return value;
  const { [NULLABLE]: marked, ...schema } = value as JsonSchema;
  const all = Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, allowNulls(inner)]),
  );
  const properties = all["properties"] as Record<string, JsonSchema> | undefined;
  for (const [name, field] of Object.entries(properties ?? {})) {
    if (!properties || !Array.isArray(marked) || !marked.includes(name)) continue;
    const { description, default: byDefault, ...rest } = field;
    properties[name] = {
      ...(description !== undefined && { description }),
      ...(byDefault !== undefined && { default: byDefault }),
      anyOf: [rest, { type: "null" }],
    };
  }
  return all;
}

/** The fields that a response always contains, with null for an unknown value (contract 2). */
function requiredFields(shape: Readonly<Record<string, z.core.$ZodType>>): string[] {
  return Object.entries(shape).flatMap(([name, entry]) =>
    entry._zod.optout === "optional" ? [] : [name]
  );
}

/**
 * Converts a schema to JSON schema. A response is the result of `z.encode`, so its schema is the
 * input side of the codecs. Schemas with an id are collected in `schemas` and referenced.
 */
function jsonSchema(schema: z.ZodType, part: "parameters" | "body" | "response", schemas: Schemas) {
  const { $schema: _, ...plainSchema } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // The pattern of a whole number in a query is that of its digits.
      if (jsonSchema.type === "integer") delete jsonSchema.pattern;
      if (def.type !== "object") return;
      if (part === "response") jsonSchema.required = requiredFields(def.shape);
      if (part === "body") jsonSchema[NULLABLE] = nullableFields(def.shape);
    },
  });
  const hoisted = JSON.stringify(allowNulls(plainSchema))
    .replaceAll("#/$defs/", "#/components/schemas/")
    .replaceAll(NOT_CONTROL, PORTABLE_NOT_CONTROL);
  const { $defs = {}, ...rest }: { $defs?: Schemas; [key: string]: unknown } = JSON.parse(hoisted);
  Object.assign(schemas, $defs);
  return rest;
}
