/**
 * `deno task agents`: every end-to-end test with every agent. With `--newest`, `mesh selftest` of the
 * releases that npm serves now and served two months ago; writes the table of docs/proved.md.
 */

import { delimiter, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "kit/core/clock.ts";
import type { Result } from "../../../tools/selftest/verdicts.ts";
import { readTaskArgs } from "../../runner/task_args.ts";
import { installRelease, type Release, RELEASES } from "../../support/e2e/installed_agents.ts";
import { run } from "../../support/e2e/programs.ts";
import { print } from "../../support/waiting.ts";
import { renderReleases, versionsOf, withTable } from "./releases.ts";
import { meshArguments } from "../../support/programs/program.ts";

const PAGE = fileURLToPath(new URL("../../../docs/proved.md", import.meta.url));

/** The scenarios of one release, in a mesh of its own. */
async function selftest(release: Release): Promise<readonly Result[]> {
  const found = installRelease(release);
  const row = { agent: release.folder, version: release.version, transport: null, ms: null };
  const failure = (detail: string): Result[] => [
    { ...row, scenario: "start", result: "failed", detail },
  ];
  if ("reason" in found) return failure(found.reason);
  const PATH = [dirname(found.bin), Deno.env.get("PATH") ?? ""].join(delimiter);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: meshArguments(["selftest", "--agent", release.folder, "--json"]),
    env: { PATH },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  try {
    const { results }: { results: Result[] } = JSON.parse(out ?? "");
    return results.map((result) => ({ ...result, version: release.version }));
  } catch (error) {
    return failure(`${error}: ${err?.slice(-200)}`);
  }
}

async function testReleases(): Promise<void> {
  const results: Result[] = [];
  for (const release of RELEASES) {
    const times = JSON.parse(run("npm", ["view", release.name, "time", "--json"]) || "{}");
    for (const version of versionsOf(times, systemClock.now())) {
      print(`${release.name}@${version}`);
      results.push(...await selftest({ ...release, version }));
    }
  }
  const day = new Date(systemClock.now()).toISOString().slice(0, 10);
  const table = renderReleases(results, day);
  Deno.writeTextFileSync(PAGE, withTable(Deno.readTextFileSync(PAGE), table));
  run("deno", ["fmt", "--quiet", PAGE]);
  print(table);
}

async function testAll(): Promise<number> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", fileURLToPath(new URL("../", import.meta.url))],
    env: { MESH_ALL_AGENTS: "1" },
  }).spawn().status;
  return code;
}

const args = readTaskArgs({
  task: "agents",
  summary: "Runs every end-to-end test with every agent",
  options: { "--newest": "run `mesh selftest` of other releases, and write docs/proved.md" },
});
if (args.flag("newest")) await testReleases();
else Deno.exit(await testAll());
