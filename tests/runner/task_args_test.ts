/** The arguments of the long tests' tasks. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { parseTaskArgs, TaskArgs, type TaskHelp } from "./task_args.ts";

const HELP: TaskHelp = {
  task: "crash",
  summary: "Ends the daemon",
  words: { name: "PART", known: ["kills", "power"] },
  options: { "--kills N": "kills (500)", "--of NAME": "only this", "--write": "write the page" },
};

/** The task's answer to arguments that start no run. */
function answerTo(...args: string[]) {
  const found = parseTaskArgs(HELP, args);
  assert.ok(!(found instanceof TaskArgs), args.join(" "));
  return found;
}

Deno.test("a task reads its words, numbers, texts and flags", () => {
  const args = parseTaskArgs(HELP, ["power", "--kills", "3", "--of=a=b", "--write"]);
  assert.ok(args instanceof TaskArgs);
  assert.deepEqual(args.words, ["power"]);
  assert.deepEqual([args.number("kills", 500), args.text("of")], [3, "a=b"]);
  assert.deepEqual([args.flag("write"), args.number("seed", 7)], [true, 7]);
});

Deno.test("a task refuses what it does not know, and names what was meant", () => {
  // deno-fmt-ignore
  const wrong: [args: string[], line: string][] = [
    [["--kill", "3"],   "unknown option --kill; did you mean --kills?"],
    [["kils"],          'unknown word "kils"; did you mean kills?'],
    [["--kills"],       "--kills needs a value: N"],
    [["--kills", "x"],  '--kills needs a number, and is "x"'],
    [["--kills", "-1"], '--kills needs a number, and is "-1"'],
  ];
  for (const [args, line] of wrong) {
    const lines = [line, "All options: deno task crash --help"];
    assert.deepEqual(answerTo(...args), { code: 2, lines });
  }
});

const TASKS = ["crash", "storm", "panes", "soak", "freeze", "fuzz", "apps", "mutation", "agents"];
Deno.test("--help of every long task prints its options and starts no run", async () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  await Promise.all(TASKS.map(async (task) => {
    const [, file = ""] = /^deno run -A (\S+)$/.exec(tasks[task]) ?? [];
    for (const [arg, expected] of [["--help", 0], ["--nonsense", 2]] as const) {
      const { code, stdout } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", file, arg],
        cwd: ROOT,
        stdin: "null",
      }).output();
      const text = new TextDecoder().decode(stdout);
      assert.deepEqual([code, text.includes(`deno task ${task}`)], [expected, true], text);
    }
  }));
});

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
