/** Rules that can be counted, beside the architecture. What breaks one is named with its line. */

import assert from "node:assert/strict";
import { EVENTS } from "kit/data/events.ts";
import type { Contract } from "kit/http/contract.ts";
import { PROBLEMS } from "kit/core/problem.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";
import { relayMigrations } from "../../relay/app/migrations/migrations.ts";
import { type Import, type Source, sources } from "./sources.ts";
import { world } from "../support/world.ts";

const LINE_COLUMNS_MAX = 100;

const SOURCES = sources();
const PRODUCT_SOURCES = SOURCES.filter(({ path }) => !path.startsWith("tests/"));

/**
 * What is known to break a rule until it is put right, by how the complaint begins. A line that
 * nothing answers to any more is complained of as well, and taken off.
 */
const KNOWN_VIOLATIONS: Record<string, readonly string[]> = {};

function rule(
  name: string,
  findViolations: () => Iterable<string> | Promise<Iterable<string>>,
): void {
  Deno.test(name, async () => {
    const known = KNOWN_VIOLATIONS[name] ?? [], found = [...await findViolations()];
    const newViolations = found.filter((complaint) =>
      !known.some((start) => complaint.startsWith(start))
    );
    const fixedViolations = known.filter((start) =>
      !found.some((complaint) => complaint.startsWith(start))
    );
    assert.deepEqual({ broken: newViolations.sort(), no_longer_broken: fixedViolations }, {
      broken: [],
      no_longer_broken: [],
    });
  });
}

/** Every line that a test of it complains of, as `path:line: complaint`. */
function* lines(
  of: readonly Source[],
  wrong: (line: string, number: number, source: Source) => string | undefined,
): Generator<string> {
  for (const source of of) {
    for (const [index, line] of source.text.split("\n").entries()) {
      const complaint = wrong(line, index + 1, source);
      if (complaint !== undefined) yield `${source.path}:${index + 1}: ${complaint}`;
    }
  }
}

Deno.test("every building is looked at", () => {
  for (
    const path of [
      "main.ts",
      "kit/data/sqlite.ts",
      "daemon/features/asks/asks.ts",
      "tests/support/world.ts",
    ]
  ) {
    assert.ok(SOURCES.some((source) => source.path === path), path);
  }
});

/** Aligned tables may be wide, and a string is not broken. */
rule("no line is wider than the page", () =>
  lines(SOURCES, (line, number, source) => {
    const bare = line.replaceAll(
      /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/(?![*/])(?:[^/\\]|\\.)+\//g,
      "",
    );
    if (Math.min(line.length, bare.length) <= LINE_COLUMNS_MAX) return undefined;
    return inTable(source, number) ? undefined : `${line.length} columns`;
  }));

/** A statement after `deno-fmt-ignore` ends at the first line that closes at its own indent. */
function inTable({ text }: Source, number: number): boolean {
  const all = text.split("\n");
  return all.some((line, index) => {
    const indent = /^(\s*)\/\/ deno-fmt-ignore\b/.exec(line)?.[1];
    if (indent === undefined || index >= number) return false;
    const end = all.findIndex((line, at) => at > index && new RegExp(`^${indent}[\\]})]`).test(line));
    return number <= end + 1;
  });
}

rule("the first line of a file says what it is for", () =>
  SOURCES.flatMap(({ path, text }) => {
    const [first = "", second = ""] = text.split("\n");
    const sentence = first === "/**" ? second.replace(/^ \* /, "/** ") : first;
    if (path.endsWith("_test.ts") || /^\/\*\* .{10,}[.:;,]?/.test(sentence)) return [];
    return [`${path}: ${first.slice(0, 40)}`];
  }));

rule("no barrels, no star exports", () => [
  ...SOURCES.map(({ path }) => path).filter((path) => /\/(mod|index)\.tsx?$/.test(path)),
  ...lines(SOURCES, (line) => /^export \* /.test(line) ? "exports all" : undefined),
]);

const EXPORTED_VALUE = /^export (?:async )?(?:const|let|function|class)\*? ([\w$]+)/gm;

/** The schemas of a contract are public, and types describe what functions take and return. */
rule("an exported value is used by another file", () => {
  const users = new Map<string, Set<string>>();
  for (const { path, code } of SOURCES) {
    for (const [name] of code.matchAll(/[\w$]+/g)) {
      users.getOrInsertComputed(name, () => new Set()).add(path);
    }
  }
  return SOURCES.filter(({ path }) => !isContract(path)).flatMap(({ path, code }) =>
    [...code.matchAll(EXPORTED_VALUE)].filter(([, name = ""]) => users.get(name)?.size === 1)
      .map(([, name]) => `${path} exports ${name}`)
  );
});

/** A comparison that stops at the first difference tells how much of a guess is right. */
rule("a secret is compared in constant time", () => {
  const left = /\b(?:\w+_token|\w*secret|\w*password)\)? [!=]== (?!undefined|null|["'\d])/;
  const right = /[!=]== (?:\w+\.)*(?:\w+_token|\w*secret|\w*password)\b/;
  return lines(
    PRODUCT_SOURCES,
    (line) => left.test(line) || right.test(line) ? line.trim() : undefined,
  );
});

rule("nothing is left to do, and nobody shouts", () =>
  lines(SOURCES, (line, _, { path }) => {
    if (path === "tests/tidy/tidy_test.ts") return undefined;
    return /\b(TODO|FIXME|XXX|HACK)\b|\bconsole\.\w+\(/.exec(line)?.[0];
  }));

const isContract = (path: string) => path.endsWith("/contract.ts");

rule(
  "contracts are safe in a browser, with all that they load",
  () =>
    PRODUCT_SOURCES.filter(({ path }) => isContract(path)).flatMap((contract) =>
      loadedBy(contract).flatMap(({ path, code, imports }) => {
        const unsafe = /\bDeno\.|\bprocess\.|node:sqlite/.exec(code)?.[0] ??
          imports.find(({ to, type_only }) => !type_only && /^node:|sqlite/.test(to))?.to;
        return unsafe ? [`${contract.path} loads ${path}, which uses ${unsafe}`] : [];
      })
    ),
);

rule(
  "a hook loads no package and nothing of Node's: an agent waits for it",
  () =>
    PRODUCT_SOURCES.filter(({ path }) => path === "main.ts" || path === "cli/hook/hook.ts").flatMap(
      (
        start,
      ) =>
        loadedBy(start, isEager).flatMap(({ path, imports }) =>
          imports.filter(isEager).filter(({ to }) => !/\.ts$/.test(to))
            .map(({ to }) => `${start.path} loads ${path}, which imports ${to}`)
        ),
    ),
);

function isEager({ type_only, lazy }: Import): boolean {
  return !type_only && !lazy;
}

function loadedBy(
  start: Source,
  follows = ({ type_only }: Import) => !type_only,
): Source[] {
  const loaded = new Set([start]);
  for (const { imports } of loaded) {
    for (const { to } of imports.filter(follows)) {
      const next = SOURCES.find(({ path }) => path === to);
      if (next) loaded.add(next);
    }
  }
  return [...loaded];
}

rule("each table is written in exactly one file", () => {
  const tables = [...migrations, ...relayMigrations].flatMap((sql) =>
    [...sql.matchAll(/create table (\w+)/g)].map(([, table = ""]) => table)
      .filter((table) => !sql.includes(`alter table ${table} rename to`))
  );
  return tables.flatMap((table) => {
    const write = new RegExp(
      `\\b(?:insert(?: or \\w+)? into|replace into|update|delete from)\\s+${table}\\b(?! on)`,
      "i",
    );
    const writers = PRODUCT_SOURCES.filter(({ code }) => write.test(code))
      .map(({ path }) => path);
    return writers.length === 1 ? [] : [`${table}: written in ${writers.join(", ") || "no file"}`];
  });
});

rule("every event of the table is told somewhere", () => {
  const appendingFiles = PRODUCT_SOURCES.filter(({ code }) => /\.append\(/.test(code));
  return Object.keys(EVENTS).filter((type) =>
    !appendingFiles.some(({ path, code }) =>
      path !== "kit/data/events.ts" && code.includes(`"${type}"`)
    )
  );
});

rule(
  "every refusal of the table is thrown somewhere",
  () =>
    Object.keys(PROBLEMS).filter((code) => {
      const thrown = new RegExp(`new Problem\\(\\s*[^)]*"${code}"`);
      return !PRODUCT_SOURCES.some((source) => thrown.test(source.code));
    }),
);

rule("a refusal that a feature throws is listed by a contract, or may come from any route", () => {
  const listed = PRODUCT_SOURCES.filter(({ path }) => isContract(path)).map(({ code }) => code)
    .join();
  return PRODUCT_SOURCES.filter(({ path }) => FEATURES.test(path)).flatMap(({ path, code }) =>
    [...code.matchAll(/new Problem\(\s*"(\w+)"/g)].map(([, code = ""]) => code)
      .filter((code) => !ANY_ROUTE.has(code) && !listed.includes(`"${code}"`))
      .map((code) => `${path}: ${code}`)
  );
});
/** What is thrown elsewhere may come from any route. */
const FEATURES = /^(?:daemon\/features|relay\/(?!app))\//;
const ANY_ROUTE = new Set(["unauthorized", "internal", "storage_failed", "invalid_request"]);

function isContractValue(value: unknown): value is Contract {
  return typeof value === "object" && value !== null && "returns" in value && "path" in value;
}

rule("every contract is served, and one with a body says what it refuses", async () => {
  await using w = world();
  const served = new Set(w.daemon.routes.map(({ contract }) => contract));
  const findViolations: string[] = [];
  for (const { path } of PRODUCT_SOURCES.filter(({ path }) => isContract(path))) {
    if (!path.startsWith("daemon/")) continue;
    const exported: Record<string, unknown> = await import(
      new URL(`../../${path}`, import.meta.url).href
    );
    for (const value of Object.values(exported).filter(isContractValue)) {
      if (!served.has(value)) findViolations.push(`${path}: ${value.id} has no route`);
      if (value.body && !value.fails) findViolations.push(`${path}: ${value.id} has no fails`);
    }
  }
  return findViolations;
});
