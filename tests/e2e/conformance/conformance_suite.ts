/** Runs scenarios of the official conformance suite of MCP, and reads its report. */

import { join } from "node:path";

/** The suite has a lock file of its own, because no user needs to install it. */
const CONFIG = join(import.meta.dirname ?? ".", "conformance.json");
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";

export interface Scenario {
  readonly scenario: string;
  readonly revision: string;
}

export interface SuiteResult {
  readonly passed: number;
  readonly all: number;
  /** The checks that failed or warned, each once. */
  readonly failed: string[];
  readonly output: string;
}

/** Runs one scenario against a server; the suite writes its files to a directory of its own. */
export async function conform(url: string, { scenario, revision }: Scenario): Promise<SuiteResult> {
  const out = await Deno.makeTempDir();
  const which = ["--scenario", scenario, "--spec-version", revision, "--timeout", "8000"];
  try {
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--config", CONFIG, SUITE, "server", "--url", url, ...which, "-o", out],
      cwd: out,
    }).output();
    const decoder = new TextDecoder();
    const raw = decoder.decode(stdout) + decoder.decode(stderr);
    // deno-lint-ignore no-control-regex
    const output = raw.replaceAll(/\x1b\[[0-9;]*m/g, "");
    const [, passed, all] = /Passed: (\d+)\/(\d+)/.exec(output) ?? [];
    const failed = [...output.matchAll(/\[([\w-]+) *\] (?:FAILURE|WARNING)/g)].map((
      [, check = ""],
    ) => check);
    return {
      passed: Number(passed),
      all: Number(all),
      failed: [...new Set(failed)].sort(),
      output,
    };
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}
