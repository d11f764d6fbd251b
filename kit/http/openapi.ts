/** Generates an OpenAPI 3.1 document from contracts. */

import * as z from "zod";
import type { Contract } from "kit/http/contract.ts";
import { type ProblemCode, PROBLEMS, toPublicCode } from "kit/core/problem.ts";

/** The refusals that every route may return. */
const COMMON_PROBLEMS: readonly ProblemCode[] = [
  "forbidden_host",
  "forbidden_origin",
  "unauthorized",
  "internal",
  "storage_failed",
];

/** The body of a file upload. Every other body is JSON. */
const FILE_FORM = {
  type: "object",
  required: ["file"],
  properties: { file: { type: "string", format: "binary" } },
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

export function openapi(title: string, version: string, contracts: readonly Contract[]) {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Schemas = { Problem: problemSchema() };
  for (const contract of contracts) {
    const item = paths[contract.path.replace(/:(\w+)/g, "{$1}")] ??= {};
    item[contract.method.toLowerCase()] = operation(contract, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title, version },
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
    security: [{}, { token: [] }],
  };
}

function operation(contract: Contract, schemas: Schemas) {
  const { id, summary, access, tunnel, body, bodyType, returns } = contract;
  const { responseType = "application/json" } = contract;
  const parameters = [
    ...toParameters(contract, { part: "params", location: "path", schemas }),
    ...toParameters(contract, { part: "query", location: "query", schemas }),
    ...(contract.idempotent ? [KEY_HEADER] : []),
  ];
  return {
    operationId: id,
    summary,
    "x-access": access,
    "x-tunnel": tunnel,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: jsonBody(body, schemas) }),
    ...(bodyType && {
      requestBody: { required: true, content: { [bodyType]: { schema: FILE_FORM } } },
    }),
    responses: {
      [responseType === "websocket" ? 101 : 200]: {
        description: "Done",
        ...(contract.idempotent && { headers: REPLAY_HEADER }),
        content: responseType === "application/json"
          ? asJson(returns, "output", schemas)
          : { [responseType]: { schema: { type: "string" } } },
      },
      ...toErrorResponses(contract),
    },
  };
}

function toErrorResponses(
  { params, query, body, idempotent, fails = [] }: Contract,
): Record<string, unknown> {
  const form: ProblemCode[] = [
    ...(body ? ["bad_json", "body_too_large"] as const : []),
    ...(params || query || body ? ["invalid_request"] as const : []),
    ...(idempotent ? ["idempotency_mismatch", "idempotency_in_progress"] as const : []),
  ];
  const codes = new Map<number, ProblemCode[]>();
  for (const code of new Set([...COMMON_PROBLEMS, ...form, ...fails])) {
    codes.getOrInsertComputed(PROBLEMS[code].status, () => []).push(code);
  }
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } };
  return Object.fromEntries(
    [...codes].map(([status, entry]) => {
      const publicCodes = new Set(entry.map(toPublicCode));
      return [status, { description: [...publicCodes].toSorted().join(", "), content }];
    }),
  );
}

interface ParameterSource {
  readonly part: "params" | "query";
  readonly location: "path" | "query";
  readonly schemas: Schemas;
}

function toParameters(contract: Contract, { part, location, schemas }: ParameterSource) {
  const schema = contract[part];
  if (!schema) return [];
  const { properties = {}, required = [] } = jsonSchema(schema, "input", schemas) as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, entry]) => ({
    name,
    in: location,
    required: location === "path" || required.includes(name),
    schema: entry,
  }));
}

function problemSchema() {
  const codes = new Set((Object.keys(PROBLEMS) as ProblemCode[]).map(toPublicCode));
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

/** The request body. It is required if a field is required: an empty body is read as `{}`. */
function jsonBody(body: z.ZodType, schemas: Schemas) {
  const schema = jsonSchema(body, "input", schemas);
  const required = Array.isArray(schema["required"]) && schema["required"].length > 0;
  return { required, content: { "application/json": { schema } } };
}

/** The fields that a response always contains, with null for an unknown value (contract 2). */
function requiredFields(shape: Readonly<Record<string, z.core.$ZodType>>): string[] {
  return Object.entries(shape).flatMap(([name, entry]) =>
    entry._zod.optout === "optional" ? [] : [name]
  );
}

function asJson(schema: z.ZodType, io: "input" | "output", schemas: Schemas) {
  return { "application/json": { schema: jsonSchema(schema, io, schemas) } };
}

/**
 * Converts a schema to JSON schema. A response is the result of `z.encode`, so its schema is the
 * input side of the codecs. Schemas with an id are collected in `schemas` and referenced.
 */
function jsonSchema(schema: z.ZodType, io: "input" | "output", schemas: Schemas) {
  const { $schema: _, ...plainSchema } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (io === "output" && def.type === "object") jsonSchema.required = requiredFields(def.shape);
    },
  });
  const hoisted = JSON.stringify(plainSchema).replaceAll("#/$defs/", "#/components/schemas/");
  const { $defs = {}, ...rest }: { $defs?: Schemas; [key: string]: unknown } = JSON.parse(hoisted);
  Object.assign(schemas, $defs);
  return rest;
}
