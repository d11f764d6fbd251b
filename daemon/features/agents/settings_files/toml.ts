/** Parses the text of a TOML file. */

import { parse, TomlError } from "smol-toml";
import { Unchangeable } from "./json.ts";

type Toml = Readonly<Record<string, unknown>>;

/** Throws `Unchangeable` with the line number if the text is not TOML. */
export function parseToml(text: string): Toml {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason = ""] = error.message.split("\n");
    throw new Unchangeable(
      `it is not TOML (${reason}, line ${error.line}); correct that line`,
      { cause: error },
    );
  }
}
