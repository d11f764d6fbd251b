/** Reads YAML 1.2: the small reader, since every start and every command pays for it. */

import { CORE_SCHEMA, loadAll } from "js-yaml";

/** The value of a text of one document; null when it says nothing. Throws on any mistake. */
export function parseYaml(text: string): unknown {
  const [value = null, ...more] = loadAll(text, { schema: CORE_SCHEMA });
  if (more.length > 0) throw new Error(`found ${more.length + 1} documents; allowed: one`);
  return value;
}
