/** Ends of a check that are no result: its program did not run, or was ended from outside. */

import assert from "node:assert/strict";
import { reasonWithoutResult } from "../../../../daemon/features/jobs/check_runner.ts";

// deno-fmt-ignore
const ENDS: [argv: string[], exit: number | null, output: string, reason: RegExp | null][] = [
  [["make"],                         1,    "1 failed\n",                                   null],
  [["make"],                         2,    "",                                             null],
  [["make"],                         null, "",                                             /did not run/],
  [["make"],                         126,  "",                                             /exited with 126/],
  [["sh", "-c", "nope"],             127,  "sh: nope: not found\n",                        /exited with 127/],
  [["sh", "-c", "make"],             137,  "Killed\n",                                     /A signal ended/],
  [["bwrap", "--x", "make"],         143,  "",                                             /A signal ended/],
  [["bwrap", "--x", "make"],         1,    "bwrap: execvp make: No such file\n",           /sandbox \(bwrap\)/],
  [["/usr/bin/bwrap", "make"],       1,    "bwrap: Can't find source path /x: gone\n",     /sandbox \(bwrap\)/],
  [["nice", "bwrap", "make"],        1,    "bwrap: No permissions to create a namespace\n", /sandbox \(bwrap\)/],
  [["bwrap", "make"],                1,    "1 failed\n",                                   null],
  [["bwrap", "make"],                1,    "",                                             null],
  [["bwrap", "make"],                2,    "bwrap: no\n",                                  null],
  [["bwrap", "make"],                1,    "bwrap: of a test\n1\n2\n3\n1 failed\n",        null],
  [["unshare", "-r", "make"],        1,    "unshare: unshare failed: Not permitted\n",     /sandbox \(unshare\)/],
  [["systemd-run", "--user", "make"], 1,   "Failed to connect to bus: No medium found\n",  /sandbox \(systemd-run\)/],
  [["systemd-run", "--user", "make"], 1,   "2 tests failed\n",                             null],
  [["docker", "run", "x"],           125,  "docker: Cannot connect to the daemon\n",       /sandbox \(docker\)/],
  [["docker", "run", "x"],           1,    "1 failed\n",                                   null],
  [["make"],                         125,  "docker: a test\n",                             null],
];
for (const [argv, exit, output, reason] of ENDS) {
  const name = `${argv.join(" ")} that exits with ${exit} after "${output.trim().slice(0, 40)}"`;
  Deno.test(`${name} has ${reason ? "no" : "a"} result`, () => {
    const found = reasonWithoutResult(argv, { exit, output });
    if (reason) assert.match(found ?? "", reason);
    else assert.equal(found, null);
  });
}
