/** The manual page is formatted without a warning. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const PAGE = fileURLToPath(new URL("../../docs/generated/mesh.1", import.meta.url));

function isMissing(program: string): boolean {
  try {
    return !new Deno.Command(program, { args: ["--version"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

function format(...args: string[]): { out: string; err: string } {
  const { stdout, stderr } = new Deno.Command("groff", { args: ["-man", ...args, PAGE] })
    .outputSync();
  const decoder = new TextDecoder();
  return { out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

Deno.test({
  name: "groff formats the manual page without warnings, with every option as it is typed",
  ignore: isMissing("groff"),
  fn() {
    assert.equal(format("-ww", "-z", "-Tutf8").err, "");
    const { out } = format("-Tascii", "-P-c");
    // deno-lint-ignore no-control-regex -- It removes the overstrikes of a typewriter.
    const text = out.replaceAll(/.\x08/g, "");
    assert.match(text, /^ +mesh ask <peer> \[text\]$/m);
    assert.match(text, /^ +--timeout <duration>$/m);
    assert.match(text, /~\/work\/api --backend claude-code/);
  },
});
