import assert from "node:assert/strict";
import { AllowedMachines } from "../../../../daemon/machines/calls/machine_names.ts";

const LAPTOP = "dm-00000000000a";
const OTHER = "dm-00000000000b";

/** The administrators of a machine that knows one other machine. */
function administrators(allowed: readonly string[], name: string) {
  const known = { daemon_id: LAPTOP, name };
  const find = (given: string) => given === LAPTOP || given === name ? known : undefined;
  return new AllowedMachines(allowed, { find });
}

Deno.test("a machine administers by its name in any case, or by its id", () => {
  assert.equal(administrators(["Laptop"], "lapTOP").includes(LAPTOP), true);
  assert.equal(administrators([LAPTOP], "laptop").includes(LAPTOP), true);
  assert.equal(administrators([], "laptop").includes(LAPTOP), false);
  assert.equal(administrators(["laptop2"], "laptop").includes(LAPTOP), false);
});

Deno.test("a machine with unknown keys may not administer", () => {
  assert.equal(administrators([OTHER], "laptop").includes(OTHER), false);
});

Deno.test("a machine that takes the id of an administrator for its name does not administer", () => {
  assert.equal(administrators([OTHER], OTHER).includes(LAPTOP), false);
  assert.equal(administrators([OTHER], OTHER.toUpperCase()).includes(LAPTOP), false);
  assert.equal(administrators([OTHER], OTHER).includes(OTHER), false);
});
