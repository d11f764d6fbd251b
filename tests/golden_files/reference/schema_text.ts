/** Names JSON schemas in a few words, for the tables of the reference pages. */

/** The parts of a JSON schema that are shown. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly $ref?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
}

/** Longer lists of values are cut. */
const VALUES_MAX = 12;

export function typeOf(schema: Schema): string {
  const { anyOf = schema.oneOf, type } = schema;
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "object";
    return name === "Instant" ? "time" : name;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return valuesOf(schema.enum);
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(" or ");
  if (type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.format === "date-time") return "time";
  if (type === "object") return objectOf(schema);
  if (type === undefined) return "any";
  return typeof type === "string" ? type : type.join(" or ");
}

function valuesOf(values: readonly unknown[]): string {
  const shown = values.slice(0, VALUES_MAX).map((value) => `\`${value}\``).join(", ");
  return values.length > VALUES_MAX ? `${shown}, …` : shown;
}

function objectOf({ properties }: Schema): string {
  const names = Object.keys(properties ?? {});
  return names.length === 0 ? "object" : `{${names.join(", ")}}`;
}

/** A text in a cell of a table. */
export function inTable(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "\\<");
}
