/** Schemathesis, a fuzzer by others, against a real daemon: it knows only the API description. */

import { fileURLToPath } from "node:url";
import { RealDaemon, temporary } from "../../support/programs/child.ts";

/** Pinned, so that a new release finds nothing new in an old commit. */
const PACKAGE = "schemathesis==4.32.5";
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "unsupported_method",
  "described_request_is_taken",
];
/** The last of the checks, and the rules that no description can express. */
const CHECKS_FILE = fileURLToPath(new URL("checks.py", import.meta.url));
/**
 * They wait for minutes, are endless, or take what an agent defines; the fuzzer of routes lets
 * their time pass.
 */
const EXCLUDED_PATHS = "/(wait|ws|stream|restart|query)$|^/(questions|hooks)/";

/** A 503 that the description names is a refusal, such as `relay_disabled`. */
const CONFIG = "[checks]\nnot_a_server_error.expected-statuses = ['2xx', '3xx', '4xx', 503]\n";

export interface ForeignResult {
  /** Reason why it could not run. */
  readonly skipped?: string;
  /** Its output from the summary on. */
  readonly report: string;
  readonly sound: boolean;
}

/** Runs it for some minutes, in a virtual environment in a temporary folder. */
export async function runSchemathesis(seed: number, minutes: number): Promise<ForeignResult> {
  using folder = temporary();
  const program = await install(folder.path);
  if ("skipped" in program) return { ...program, report: "", sound: true };
  Deno.writeTextFileSync(`${folder.path}/schemathesis.toml`, CONFIG);
  using state = temporary();
  const settings = { MESH_HUMAN__NAME: "sam" };
  await using daemon = await RealDaemon.start(state.path, { settings });
  const args = [
    ...["run", `${daemon.base}/openapi.json`, "--url", daemon.base],
    ...["--checks", CHECKS.join(","), "--exclude-path-regex", EXCLUDED_PATHS],
    ...["--max-time", String(Math.ceil(minutes * 60)), "--seed", String(seed)],
    ...["--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off"],
    ...["--continue-on-failure", "--generation-database", "none"],
  ];
  const { success, output } = await run(program.path, args, folder.path);
  const health = await fetch(`${daemon.base}/health`);
  await health.body?.cancel();
  const audit = await (await fetch(`${daemon.base}/deliveries?limit=1`)).json();
  const sound = success && health.ok && audit.error === undefined;
  return { report: output, sound };
}

async function install(dir: string): Promise<{ path: string } | { skipped: string }> {
  if (!(await run("python3", ["--version"], dir)).success) {
    return { skipped: "Python 3 is not installed" };
  }
  const made = await run("python3", ["-m", "venv", `${dir}/venv`], dir);
  if (!made.success) return { skipped: `Python makes no virtual environment: ${made.output}` };
  const installed = await run(`${dir}/venv/bin/pip`, ["install", "--quiet", PACKAGE], dir);
  if (!installed.success) return { skipped: `pip cannot install ${PACKAGE}: ${installed.output}` };
  return { path: `${dir}/venv/bin/schemathesis` };
}

async function run(program: string, args: readonly string[], cwd: string) {
  try {
    const command = new Deno.Command(program, {
      args: [...args],
      cwd,
      env: { NO_COLOR: "1", PYTHONUTF8: "1", SCHEMATHESIS_HOOKS: CHECKS_FILE },
    });
    const { success, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    return { success, output: `${decoder.decode(stdout)}${decoder.decode(stderr)}`.trim() };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { success: false, output: "not found" };
    throw error;
  }
}
