/** Reads YAML 1.2 with the smaller of two libraries: docs/decisions/003-two-yaml-libraries.md. */

import { CORE_SCHEMA, loadAll } from "js-yaml";

/** Parses a text of one document; null if it is empty. Throws on any error in it. */
export function parseYaml(text: string): unknown {
  const [value = null, ...more] = loadAll(text, { schema: CORE_SCHEMA });
  if (more.length > 0) throw new Error(`found ${more.length + 1} documents; allowed: one`);
  return value;
}
