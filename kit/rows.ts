/** A row's schema, derived from the wire's: one record, one schema (style 2.4, rule 4). */

import { z } from "zod";
import { Instant } from "kit/contract.ts";

const Bit = z.codec(z.union([z.literal(0), z.literal(1)]), z.boolean(), {
  decode: (bit) => bit === 1,
  encode: (flag) => flag ? 1 : 0,
});

/** The row of a record: what SQLite gives, parsed to what the house holds in memory. */
export type RowOf<S extends z.ZodObject> = z.ZodType<
  z.output<S>,
  Record<string, string | number | null>
>;

/**
 * Instant becomes an integer of milliseconds, a boolean 0 or 1, an array or object JSON text;
 * nothing else changes. Parse a row with it, encode a record to its parameters.
 */
export function rowOf<S extends z.ZodObject>(record: S): RowOf<S> {
  const shape = Object.entries(record.shape).map(([key, field]) => [key, column(field)]);
  return z.object(Object.fromEntries(shape)) as unknown as RowOf<S>;
}

function column(field: z.core.$ZodType): z.ZodType {
  if (field instanceof z.ZodNullable) return column(field.unwrap()).nullable();
  if (field === Instant) return z.number().int();
  if (field instanceof z.ZodBoolean) return Bit;
  if (field instanceof z.ZodArray || field instanceof z.ZodObject || field instanceof z.ZodRecord) {
    return z.codec(z.string(), field, {
      decode: (text) => JSON.parse(text),
      encode: (value) => JSON.stringify(value),
    });
  }
  return field as z.ZodType;
}
