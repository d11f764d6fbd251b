/** `deno task compile`: makes one executable of the parts, and explains a failed download. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PARTS_FLAGS } from "../cli/client/program.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
const printError = (line: string) =>
  void Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));

const { values: { target = Deno.build.target, output = "dist/mesh" } } = parseArgs({
  options: { target: { type: "string" }, output: { type: "string" } },
});
print(
  `Downloads the runtime part of Deno ${Deno.version.deno} for ${target} from dl.deno.land ` +
    "(about 40 MB), unless DENORT_BIN names it or Deno's cache has it",
);
const flags = ["-A", ...PARTS_FLAGS, "--target", target];
const { success, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["compile", ...flags, "--output", output, "dist/parts/main.js"],
  cwd: ROOT,
  stdout: "inherit",
}).output();
const errors = new TextDecoder().decode(stderr);
if (success) print(`Made ${output}`);
else if (/error sending request|dns error|Setting up base binary/.test(errors)) {
  printError("No executable was made: the runtime part could not be downloaded from dl.deno.land.");
  printError("Name a file that has it with DENORT_BIN, or make the npm package: deno task pack");
} else printError(errors);
Deno.exit(success ? 0 : 1);
