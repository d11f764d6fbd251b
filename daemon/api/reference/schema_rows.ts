/** JSON schemas as tables of fields. */

import { escapeMarkup } from "kit/core/text.ts";

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly $ref?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Fields of objects within objects are shown down to here. */
const DEPTH_MAX = 3;

/** The fields of an object, one per row; any other schema in one line. */
export function renderSchema(given: object): string {
  const schema: Schema = given;
  const rows = rowsOf(schema, "", 0);
  if (rows === "") return `<p>${typeOf(schema)}</p>`;
  return `<table><thead><tr><th>Field<th>Type<th>Meaning</thead><tbody>${rows}</tbody></table>`;
}

function rowsOf(schema: Schema, prefix: string, depth: number): string {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).map(([name, field]) => {
    const isNeeded = required.includes(name);
    const inner = field.items?.properties ? field.items : field;
    const nested = depth < DEPTH_MAX
      ? rowsOf(inner, `${prefix}${name}${inner === field ? "." : "[]."}`, depth + 1)
      : "";
    const fallback = field.default === undefined
      ? ""
      : ` By default <code>${escapeMarkup(JSON.stringify(field.default))}</code>.`;
    const about = escapeMarkup(field.description ?? "").replaceAll(
      /`([^`]+)`/g,
      "<code>$1</code>",
    );
    return `<tr><td><code>${escapeMarkup(prefix + name)}</code>${
      isNeeded ? "" : " <i>optional</i>"
    }` +
      `<td>${typeOf(field)}<td>${about}${fallback}\n${nested}`;
  }).join("");
}

function typeOf(schema: Schema): string {
  const { type, const: value, enum: values, anyOf, oneOf = anyOf, items, $ref } = schema;
  const code = (literal: unknown) => `<code>${escapeMarkup(JSON.stringify(literal))}</code>`;
  if ($ref) {
    const name = escapeMarkup($ref.slice($ref.lastIndexOf("/") + 1));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (value !== undefined) return code(value);
  if (values) return values.map(code).join(", ");
  if (oneOf) return [...new Set(oneOf.map(typeOf))].join(" or ");
  if (type === "array") return `list of ${items ? typeOf(items) : "values"}`;
  return escapeMarkup(typeof type === "string" ? type : type?.join(" or ") ?? "any value");
}
