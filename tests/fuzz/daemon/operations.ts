/** The operations of an API description, and requests for them. */

import fc from "fast-check";
import * as z from "zod";
import { damagedRecord, hostileJson, hostileText } from "../hostile.ts";

const Schema = z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() });
const Operation = z.object({
  parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
  requestBody: z.object({
    content: z.record(z.string(), z.object({ schema: Schema, example: z.unknown().optional() })),
  }).optional(),
  responses: z.record(z.string(), z.unknown()),
});
const Description = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly headers: readonly string[];
  readonly media_type: string | undefined;
  readonly example: Record<string, unknown>;
  readonly fields: readonly string[];
  /** The statuses that the description names, such as `404`. */
  readonly statuses: ReadonlySet<string>;
}

export interface FuzzRequest {
  readonly operation: Operation;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
}

export function operationsOf(description: unknown): Operation[] {
  return Object.entries(Description.parse(description).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, given]) => {
      const { parameters, requestBody, responses } = Operation.parse(given);
      const [media_type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      const named = (where: string) =>
        parameters.filter((parameter) => parameter.in === where).map(({ name }) => name);
      return {
        method: method.toUpperCase(),
        path,
        query: named("query"),
        headers: named("header"),
        media_type,
        example: z.record(z.string(), z.unknown()).catch({}).parse(content?.example),
        fields: Object.keys(content?.schema.properties ?? {}),
        statuses: new Set(Object.keys(responses)),
      };
    })
  );
}

/** Requests of every operation; `ids` are known ones, which grow as requests are answered. */
export function requestsOf(
  operations: readonly Operation[],
  ids: readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const id = fc.nat().map((at) => ids[at % ids.length] ?? "api");
  const word = fc.oneof({ weight: 5, arbitrary: id }, { weight: 2, arbitrary: hostileText });
  return fc.constantFrom(...operations).chain((operation) =>
    fc.record({
      operation: fc.constant(operation),
      path: pathOf(operation, word),
      headers: headersOf(operation, word),
      body: bodyOf(operation, fc.oneof(id, hostileJson)),
    })
  );
}

function pathOf({ path, query }: Operation, word: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const parts = path.split(/\{\w+\}/);
  const params = fc.array(word, { minLength: parts.length - 1, maxLength: parts.length - 1 });
  const names = [...query, "circle", "from_peer"];
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names), word), { maxLength: 3 });
  return fc.tuple(params, pairs).map(([values, given]) => {
    const filled = parts.map((part, at) => part + encodeSegment(values[at] ?? "")).join("");
    const search = new URLSearchParams(given.map(([name, value]) => [name, value.toWellFormed()]));
    return given.length === 0 ? filled : `${filled}?${search}`;
  });
}

/** A path segment; `.` and `..` would change the route. */
function encodeSegment(value: string): string {
  return /^\.{1,2}$/.test(value) ? "dots" : encodeURIComponent(value.toWellFormed());
}

const ODD_HEADERS = ["content-type", "traceparent", "last-event-id", "x-mesh-peer", "x-mesh-pid"];

function headersOf({ headers }: Operation, word: fc.Arbitrary<string>) {
  const value = word.map((text) => text.replaceAll(/[^\x20-\x7e]/g, "").trim());
  const pair = fc.tuple(fc.constantFrom(...headers, ...ODD_HEADERS), value);
  return fc.array(pair, { maxLength: 2 });
}

function bodyOf(
  { method, media_type, example, fields }: Operation,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<string | undefined> {
  if (method === "GET" || method === "HEAD") return fc.constant(undefined);
  if (media_type?.startsWith("multipart")) return fc.oneof(form, hostileText);
  const record = damagedRecord(example, fields, value).map((body) => JSON.stringify(body));
  return fc.oneof(
    { weight: 12, arbitrary: record },
    { weight: 1, arbitrary: hostileJson.map((json) => JSON.stringify(json)) },
    { weight: 1, arbitrary: hostileText },
    {
      weight: 1,
      arbitrary: record.chain((text) => fc.nat(text.length).map((n) => text.slice(0, n))),
    },
  );
}

const form = fc.tuple(hostileText, hostileText).map(([name, text]) => {
  const head = `content-disposition: form-data; name="file"; filename="${name}"`;
  return `--b\r\n${head}\r\n\r\n${text}\r\n--b--\r\n`;
});
