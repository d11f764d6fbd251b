/**
 * `deno task mutation [TEXT]`: puts each fault of the lists in this folder into a copy of the
 * sources, and runs the tests that must find it. With a text, only the faults of the files whose
 * path contains it.
 */

import { fileURLToPath } from "node:url";
import { temporary } from "../support/programs/child.ts";
import { CORE_TARGETS } from "./core_faults.ts";
import { MESSAGE_TARGETS } from "./message_faults.ts";

const TARGETS = [...MESSAGE_TARGETS, ...CORE_TARGETS];
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Longer than any of these tests take; a fault may make one wait for good. */
const TEST_MS_MAX = 180_000;
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

using copy = temporary();
copySources(copy.path);
const wanted = TARGETS.filter(({ file }) => file.includes(Deno.args[0] ?? ""));
const survived: string[] = [];
let count = 0;
for (const { file, tests, faults } of wanted) {
  if (!await passes(tests)) throw new Error(`These tests fail without a fault: ${tests.join(" ")}`);
  const path = `${copy.path}/${file}`;
  const text = Deno.readTextFileSync(path);
  for (const [fault, find, replace] of faults) {
    count++;
    Deno.writeTextFileSync(path, text.replace(find, () => replace));
    const isFound = !await passes(tests);
    print(`${isFound ? "found   " : "SURVIVED"}  ${file}: ${fault}`);
    if (!isFound) survived.push(`${file}: ${fault}`);
  }
  Deno.writeTextFileSync(path, text);
}
print(`\n${count - survived.length} of ${count} faults were found`);
for (const one of survived) print(`survived: ${one}`);
Deno.exitCode = survived.length === 0 ? 0 : 1;

/** The sources and the tests, without what is built or ignored. */
function copySources(to: string): void {
  const list = run("git", ["ls-files", "-z"]);
  for (const file of list.split("\0").filter(Boolean)) {
    const folder = `${to}/${file}`.replace(/\/[^/]*$/, "");
    Deno.mkdirSync(folder, { recursive: true });
    Deno.copyFileSync(`${ROOT}${file}`, `${to}/${file}`);
  }
}

function run(program: string, args: readonly string[]): string {
  const { success, stdout } = new Deno.Command(program, { args: [...args], cwd: ROOT })
    .outputSync();
  if (!success) throw new Error(`${program} failed`);
  return new TextDecoder().decode(stdout);
}

/** A fault may also keep the sources from loading, which counts as found. */
async function passes(tests: readonly string[]): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--fail-fast", "--quiet", ...tests],
    cwd: copy.path,
    stdout: "null",
    stderr: "null",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), TEST_MS_MAX);
  try {
    return (await child.status).success;
  } finally {
    clearTimeout(timer);
  }
}
