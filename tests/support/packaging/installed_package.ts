/** The npm package, packed and installed into a prefix of its own, as a user would. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The output of a program that must succeed. */
export function outputOf(
  program: string,
  args: readonly string[],
  options: Deno.CommandOptions = {},
): string {
  const { success, stdout, stderr } = new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    ...options,
  }).outputSync();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(success, `${program} ${args.join(" ")}\n${text(stdout)}${text(stderr)}`);
  return text(stdout).trim();
}

export function isMissing(program: string): boolean {
  try {
    return !new Deno.Command(program, { args: ["--version"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/** True if the runner of all tests has built the parts. */
const HAS_PARTS = Deno.env.has("TESTED_PARTS");

/** Builds `dist/parts`. */
export function buildParts(): void {
  if (!HAS_PARTS) outputOf(Deno.execPath(), ["task", "parts"], { cwd: ROOT });
}

/** Makes the npm package in `dist/npm`. */
export function makePackage(): void {
  const args = HAS_PARTS ? ["run", "-A", "packaging/pack.ts"] : ["task", "pack"];
  outputOf(Deno.execPath(), args, { cwd: ROOT });
}

export class InstalledPackage implements Disposable {
  readonly dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-pack-" }));
  readonly program = `${this.dir}/prefix/bin/mesh`;
  /** When the installation began: the user's first command. */
  readonly began: number;

  constructor() {
    makePackage();
    const pack = ["pack", "--silent", "--pack-destination", this.dir];
    const tarball = outputOf("npm", pack, { cwd: `${ROOT}dist/npm` });
    const quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
    const install = ["install", "--global", "--prefix", `${this.dir}/prefix`, ...quiet];
    this.began = Date.now();
    outputOf("npm", [...install, join(this.dir, tarball)]);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}
