import assert from "node:assert/strict";
import plugin from "./rules.ts";

/** A rule of the plugin, sources that break it, and sources that do not. */
interface Case {
  readonly rule: string;
  readonly broken: readonly string[];
  readonly fine: readonly string[];
  /** Paths where the rule does not hold. */
  readonly except?: readonly string[];
}

const linesOf = (count: number, line: string) => `${line}\n`.repeat(count);

const CASES: readonly Case[] = [
  {
    rule: "clock-and-ids",
    broken: [
      "Date.now();",
      "performance.now();",
      "AbortSignal.timeout(5);",
      "Math.random();",
      "crypto.randomUUID();",
      "crypto.getRandomValues(bytes);",
      "Date();",
      "setTimeout(work, 5);",
      "setInterval(work, 5);",
      "new Date();",
    ],
    fine: ["new Date(now);", "clock.now();", "Date.parse(text);"],
    except: ["/kit/core/clock.ts", "/tests/kit/core/clock_test.ts", "/dashboard/page.ts"],
  },
  {
    rule: "no-set-immediate",
    broken: ["setImmediate(work);"],
    fine: ["queueMicrotask(work);"],
    except: ["/kit/data/sqlite.ts", "/tests/support/world.ts", "/dashboard/page.ts"],
  },
  {
    rule: "environment-in-main",
    broken: ['Deno.env.get("HOME");'],
    fine: ['env["HOME"];'],
    except: ["/main.ts", "/tests/support/world.ts"],
  },
  {
    rule: "no-default-exports",
    broken: ["export default 1;"],
    fine: ["export const one = 1;"],
    except: ["/tests/tidy/rules.ts", "/tests/shape/measure.ts"],
  },
  {
    rule: "hash-private",
    broken: [
      "class A { private one = 1; }",
      "class A { private one() {} }",
      "class A { constructor(private one: number) {} }",
    ],
    fine: ["class A { #one = 1; }", "class A { private constructor() {} }"],
  },
  {
    rule: "no-forced-casts",
    broken: ["const a = b as unknown as string;", "const a = b as any;"],
    fine: ["const a = b as string;"],
    except: ["/kit/data/rows.ts", "/tests/support/world.ts"],
  },
  {
    rule: "no-object-packing",
    broken: ["const a = { ...{ b, c }, d };"],
    fine: ["const a = { ...b, d };", "const a = { ...(b && { b }), d };", "const a = { b, c };"],
  },
  {
    rule: "function-lines",
    broken: [
      `function a() {\n${linesOf(59, "b();")}}`,
      `const a = () => {\n${linesOf(59, "b();")}};`,
      `const a = function () {\n${linesOf(59, "b();")}};`,
    ],
    fine: [`function a() {\n${linesOf(58, "b();")}}`],
  },
  {
    rule: "class-lines",
    broken: [
      `class A {\n${linesOf(259, "b = 1;")}}`,
      `const A = class {\n${linesOf(259, "b = 1;")}};`,
    ],
    fine: [`class A {\n${linesOf(258, "b = 1;")}}`],
  },
];

const PATH = "/mesh/daemon/features/asks/asks.ts";

function rulesBrokenBy(source: string, path = PATH): string[] {
  return Deno.lint.runPlugin(plugin, path, source).map(({ id }) => id);
}

for (const { rule, broken, fine, except = [] } of CASES) {
  Deno.test(`the lint rule ${rule} finds its counterexamples, and nothing else`, () => {
    for (const source of broken) {
      assert.deepEqual(rulesBrokenBy(source), [`${plugin.name}/${rule}`], source);
    }
    for (const source of fine) assert.deepEqual(rulesBrokenBy(source), [], source);
    for (const path of except) {
      assert.deepEqual(rulesBrokenBy(broken[0] ?? "", path), [], path);
    }
  });
}

Deno.test("every lint rule has a counterexample", () => {
  assert.deepEqual(CASES.map(({ rule }) => rule).sort(), Object.keys(plugin.rules).sort());
});
