/**
 * Draws comments, errors and names for a reader who has not seen the code (style guide, point 20):
 * `deno run -A tests/shape/sample.ts [seed] [count]`. The same seed draws the same sample.
 */

import { PROBLEMS } from "protocol/problems.ts";
import { Chance } from "../support/seeded_random.ts";
import { sources } from "../tidy/sources.ts";

const COUNT = 10;
/** Shorter comments say too little to be judged. */
const WORDS_MIN = 5;

const BLOCK = /\/\*\*?([\s\S]*?)\*\/|(?<=^|\s)\/\/ (.*)$/gm;
const NAME = /^export (?:abstract |async )?(?:class|function|const|interface|type) (\w+)/gm;

function commentsIn(text: string): string[] {
  return [...text.matchAll(BLOCK)]
    .map(([, block, line]) => (block ?? line ?? "").replaceAll(/^\s*\* ?/gm, "").trim())
    .map((comment) => comment.replaceAll(/\s+/g, " "))
    .filter((comment) => comment.split(" ").length >= WORDS_MIN && !comment.startsWith("deno-"));
}

function sampleOf(chance: Chance, from: readonly string[], count: number): string[] {
  const left = [...from];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const [line = ""] = left.splice(chance.below(left.length), 1);
    return line;
  });
}

function main([seed = "1", count = String(COUNT)]: readonly string[]): void {
  const chance = new Chance(Number(seed));
  const files = sources().filter(({ path }) => !path.startsWith("tests/"));
  const comments = files.flatMap(({ path, text }) =>
    commentsIn(text).map((comment) => `${path}: ${comment}`)
  );
  const names = files.flatMap(({ path, code }) =>
    [...code.matchAll(NAME)].map(([, name]) => `${path}: ${name}`)
  );
  const errors = Object.values(PROBLEMS).map(({ detail, hint }) =>
    hint ? `${detail}; ${hint}` : detail
  );
  for (
    const [title, all] of [["Comments", comments], ["Errors", errors], ["Names", names]] as const
  ) {
    print(`\n${title} (of ${all.length})`);
    for (const line of sampleOf(chance, all, Number(count))) print(`  ${line}`);
  }
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

main(Deno.args);
