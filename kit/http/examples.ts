/** Makes example values from JSON schemas, with sample values for fields of known names. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Values by the name of a field; each is used where it fits the field's schema. */
export type Samples = Readonly<Record<string, unknown>>;

interface ExampleContext {
  readonly samples: Samples;
  /** The named schemas that `$ref` points to. */
  readonly schemas: Readonly<Record<string, unknown>>;
  /** True if the example also has optional fields that have a sample. */
  readonly complete: boolean;
}

/** Ends the recursion in a schema that refers to itself. All other schemas are less deep. */
const DEPTH_MAX = 8;

/** An example for a schema; `name` is that of its field. */
export function exampleOf(
  schema: JsonSchema,
  context: ExampleContext,
  name = "",
  depth = 0,
): unknown {
  const resolved = resolve(schema, context);
  if ("const" in resolved) return resolved["const"];
  const choices = listOf(resolved["enum"]);
  const sample = context.samples[name];
  if (sample !== undefined && fits(sample, resolved, choices)) return sample;
  if (choices) return choices[0];
  const options = listOf(resolved["anyOf"] ?? resolved["oneOf"]);
  if (options) return exampleOf(firstOf(options), context, name, depth);
  if ("default" in resolved) return resolved["default"];
  return plainExample(resolved, { context, name, depth });
}

interface Place {
  readonly context: ExampleContext;
  readonly name: string;
  readonly depth: number;
}

function plainExample(schema: JsonSchema, { context, name, depth }: Place): unknown {
  const { items, minimum = 0, format } = schema;
  switch (typeOf(schema)) {
    case "object":
      return depth < DEPTH_MAX ? objectExample(schema, { context, name, depth }) : {};
    case "array":
      return isSchema(items) && depth < DEPTH_MAX
        ? [exampleOf(items, context, name.replace(/s$/, ""), depth + 1)]
        : [];
    case "string":
      if (format === "date") return "2026-05-04";
      if (format === "date-time") return "2026-05-04T09:30:00.000Z";
      return "pattern" in schema ? "1" : "text"; // Most patterns are of numbers in a query.
    case "integer":
    case "number":
      return Math.max(Number(minimum), 1);
    case "boolean":
      return true;
    default:
      return null;
  }
}

function objectExample(schema: JsonSchema, { context, depth }: Place): unknown {
  const { properties = {}, required } = schema;
  const needed = listOf(required) ?? [];
  const isShown = (name: string) =>
    needed.includes(name) || (context.complete && context.samples[name] !== undefined);
  const fields = Object.entries(properties as Record<string, JsonSchema>)
    .filter(([name]) => isShown(name))
    .map(([name, field]) => [name, exampleOf(field, context, name, depth + 1)]);
  return Object.fromEntries(fields);
}

function resolve(schema: JsonSchema, { schemas }: ExampleContext): JsonSchema {
  const { $ref } = schema;
  if (typeof $ref !== "string") return schema;
  const named = schemas[$ref.slice($ref.lastIndexOf("/") + 1)];
  return isSchema(named) ? named : {};
}

/** True if a sample is of the schema's type and among its choices, if it has any; none is a day. */
function fits(
  sample: unknown,
  schema: JsonSchema,
  choices: readonly unknown[] | undefined,
): boolean {
  if (choices) return choices.includes(sample);
  const options = listOf(schema["anyOf"] ?? schema["oneOf"]);
  if (options) {
    return options.some((option) =>
      isSchema(option) && fits(sample, option, listOf(option["enum"]))
    );
  }
  const type = typeOf(schema);
  if (schema["format"] === "date") return false;
  if (type === "array") return Array.isArray(sample);
  if (type === "object") return isSchema(sample);
  const found: string = typeof sample;
  return found === (type === "integer" ? "number" : type);
}

/** The type that is not null. */
function typeOf({ type }: JsonSchema): unknown {
  return Array.isArray(type) ? type.find((name) => name !== "null") : type;
}

/** The first alternative that is not null. */
function firstOf(options: readonly unknown[]): JsonSchema {
  const found = options.find((option) => isSchema(option) && option["type"] !== "null");
  return isSchema(found) ? found : {};
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
