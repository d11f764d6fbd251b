/** Output of `--json` has the fields that docs/generated/json.md lists. */

import assert from "node:assert/strict";
import { COMMANDS } from "../../support/commands.ts";
import { OWN_ANSWERS, ROUTE_ANSWERS } from "../../golden_files/reference/json_answers.ts";
import { shapesOf } from "../../golden_files/reference/json_page.ts";
import { DocumentMesh } from "../../support/documents/document_mesh.ts";
import { withSampleIds } from "../../support/documents/sample_ids.ts";

/** Arguments with which a command succeeds here; the ids are replaced by real ones. */
const RUNS: readonly string[] = [
  "status",
  "peers",
  "peers --prune",
  "ask api Where",
  "ask api Where --wait",
  "notify api Hello",
  "inbox",
  "inbox list",
  "inbox show inb-3f9c04d1a2b7",
  "inbox read inb-3f9c04d1a2b7",
  "inbox unread inb-3f9c04d1a2b7",
  "inbox snooze inb-3f9c04d1a2b7 --for 2h",
  "inbox reply inb-3f9c04d1a2b7 Yes",
  "asks",
  "show ask-3f9c04d1a2b7",
  "show inb-3f9c04d1a2b7",
  "show notif-3f9c04d1a2b7",
  "ack ask-3f9c04d1a2b7 --from sam",
  "decline ask-3f9c04d1a2b7 No --from sam",
  "answer ask-7d20c4d1a2b7 --option allow",
  "ask-many api,web Where",
  "ask-many api,web Where --wait",
  "broadcast Hello",
  "upload work/api/screenshot.png",
  "trace ask-3f9c04d1a2b7",
  "why ask-3f9c04d1a2b7",
  "search branch",
  "recall Which port?",
  "digest --since 8h",
  "peer show api",
  "peer rehook api",
  "orphans",
  "jobs",
  "jobs list",
  "jobs create Sample --to web --due 1h",
  "jobs show work-3f9c04d1a2b7",
  "jobs show cal-3f9c04d1a2b7",
  "jobs status work-3f9c04d1a2b7",
  "jobs cancel work-3f9c04d1a2b7",
  "jobs pause cal-3f9c04d1a2b7",
  "schedule",
  "schedule list",
  "schedule create web Hello --at 1h",
  "schedule show sched-3f9c04d1a2b7",
  "schedule edit sched-3f9c04d1a2b7 --at 2h",
  "schedule delete sched-3f9c04d1a2b7",
  "doctor",
  "top",
  "config",
  "config get daemon.port",
  "config list",
  "config path",
  "config check",
  "config set daemon.history_days 31",
  "config unset daemon.history_days",
  "open",
  "dashboard",
  "usage",
  "limits",
  "docs --print",
  "update",
  "backup copy.db",
  "up",
  "restart",
  "restore copy.db --yes",
  "peer set api --reminders off",
  "peer rename web web2",
  "peer close web2",
  "down",
];

/** The command of the table that a line runs. */
function nameOf(line: string): string {
  const words = line.split(" ");
  const two = words.slice(0, 2).join(" ");
  return two in ROUTE_ANSWERS || two in OWN_ANSWERS ? two : words[0] ?? "";
}

/** True if an object has all fields of a shape and no other. */
function fits(answer: object, name: string): boolean {
  const own = OWN_ANSWERS[name];
  const keys = Object.keys(answer);
  if (own) {
    const isThere = ([key, meaning]: [string, string]) =>
      keys.includes(key) || meaning.startsWith("optional");
    return "(key)" in own || keys.every((key) => key in own) && Object.entries(own).every(isThere);
  }
  return (ROUTE_ANSWERS[name] ?? []).flatMap(({ contract }) => shapesOf(contract))
    .filter(({ title }) => !title.startsWith("Each"))
    .some(({ schema: { properties = {}, required = [] } }) =>
      required.every((key) => keys.includes(key)) &&
      // `ask --wait` adds the id to the answer of the route.
      keys.every((key) => key in properties || key === "correlation_id")
    );
}

Deno.test("the answers of --json have the fields that the documents list", async () => {
  await using mesh = await DocumentMesh.start();
  const before = Deno.cwd();
  Deno.chdir(mesh.home);
  try {
    for (const line of RUNS) {
      const args = (await withSampleIds(mesh, line)).split(" ");
      const { code, out, err } = await mesh.cli([...args, "--json"]);
      assert.equal(code, 0, `mesh ${line}\n${out}${err}`);
      assert.ok(fits(JSON.parse(out), nameOf(line)), `mesh ${line}\n${out}`);
      if (line.startsWith("rest")) await mesh.ready();
    }
  } finally {
    Deno.chdir(before);
  }
});

Deno.test("an answer with another field, or without one, is noticed", () => {
  assert.equal(fits({}, "peers"), false);
  assert.equal(fits({ peers: [], other: 1 }, "peers"), false);
  assert.equal(fits({ stopped: 1, other: 1 }, "down"), false);
  assert.equal(fits({}, "down"), false);
});

Deno.test("every command with --json is in the list of answers", () => {
  /** Commands that print an object in each line, or report on real agents. */
  const OTHERS = ["watch", "logs", "inbox watch", "selftest", "config edit"];
  const names = COMMANDS.filter(({ flags = {}, hidden }) => !hidden && "--json" in flags)
    .map(({ usage }) => usage.replace(/ ?[<[].*$/s, ""));
  const missing = names.filter((name) =>
    !(name in ROUTE_ANSWERS || name in OWN_ANSWERS || OTHERS.includes(name))
  );
  assert.deepEqual(missing, []);
});
