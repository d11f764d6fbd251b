/** Rules that a search of the sources shows: each takes sources and returns what breaks it. */

import type { Contract } from "kit/http/contract.ts";
import type { Import, Source } from "./sources.ts";

type Sources = readonly Source[];

const LINE_COLUMNS_MAX = 100;

const isTest = ({ path }: Source) => path.startsWith("tests/");
const isContract = ({ path }: Source) => path.startsWith("protocol/");
const product = (sources: Sources) => sources.filter((source) => !isTest(source));

/** `path:line: violation` for each line in which `find` finds one. */
function inLines(
  sources: Sources,
  find: (line: string, number: number, source: Source) => string | undefined,
): string[] {
  return sources.flatMap((source) =>
    source.text.split("\n").flatMap((line, index) => {
      const violation = find(line, index + 1, source);
      return violation === undefined ? [] : [`${source.path}:${index + 1}: ${violation}`];
    })
  );
}

/** A line has at most 100 columns. An aligned table may be wider, and so may a string. */
export function wideLines(sources: Sources): string[] {
  return inLines(sources, (line, number, source) => {
    const bare = line.replaceAll(
      /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/(?![*/])(?:[^/\\]|\\.)+\//g,
      "",
    );
    if (Math.min(line.length, bare.length) <= LINE_COLUMNS_MAX) return undefined;
    return isInTable(source, number) ? undefined : `${line.length} columns`;
  });
}

/** A statement after `deno-fmt-ignore` ends at the first line that closes at its own indent. */
function isInTable({ text }: Source, number: number): boolean {
  const all = text.split("\n");
  return all.some((line, index) => {
    const indent = /^(\s*)\/\/ deno-fmt-ignore\b/.exec(line)?.[1];
    if (indent === undefined || index >= number) return false;
    const end = all.findIndex((line, at) => at > index && new RegExp(`^${indent}[\\]})]`).test(line));
    return number <= end + 1;
  });
}

/** The first line of a file says what it holds; the name of a test file does so by itself. */
export function missingHeaders(sources: Sources): string[] {
  return sources.filter(({ path }) => !path.endsWith("_test.ts")).flatMap(({ path, text }) => {
    const [first = "", second = ""] = text.split("\n");
    const sentence = first === "/**" ? second.replace(/^ \* /, "/** ") : first;
    return /^\/\*\* .{10,}/.test(sentence) ? [] : [`${path}: ${first.slice(0, 40)}`];
  });
}

/** No file exports another one whole, and none is named for doing so. */
export function barrels(sources: Sources): string[] {
  return [
    ...sources.map(({ path }) => path).filter((path) => /\/(mod|index)\.tsx?$/.test(path)),
    ...inLines(sources, (line) => /^export \* /.test(line) ? "exports all" : undefined),
  ];
}

const EXPORTED_VALUE = /^export (?:async )?(?:const|let|function|class)\*? ([\w$]+)/gm;

/**
 * An exported value is used by another file. Types are left out, for they describe what functions
 * take and return, and so are contracts, whose schemas are public.
 */
export function unusedExports(sources: Sources): string[] {
  const users = new Map<string, Set<string>>();
  for (const { path, code } of sources) {
    for (const [name] of code.matchAll(/[\w$]+/g)) {
      users.getOrInsertComputed(name, () => new Set()).add(path);
    }
  }
  return sources.filter((source) => !isContract(source)).flatMap(({ path, code }) =>
    [...code.matchAll(EXPORTED_VALUE)].filter(([, name = ""]) => users.get(name)?.size === 1)
      .map(([, name]) => `${path} exports ${name}`)
  );
}

/** A comparison that stops at the first difference shows how much of a guessed secret is right. */
export function comparedSecrets(sources: Sources): string[] {
  const left = /\b(?:\w+_token|\w*secret|\w*password)\)? [!=]== (?!undefined|null|["'\d])/;
  const right = /[!=]== (?:\w+\.)*(?:\w+_token|\w*secret|\w*password)\b/;
  return inLines(
    product(sources),
    (line) => left.test(line) || right.test(line) ? line.trim() : undefined,
  );
}

/** No note of unfinished work, and no call of the console; this folder holds counterexamples. */
export function leftovers(sources: Sources): string[] {
  return inLines(
    sources.filter(({ path }) => !path.startsWith("tests/tidy/")),
    (line) => /\b(TODO|FIXME|XXX|HACK)\b|\bconsole\.\w+\(/.exec(line)?.[0],
  );
}

/** The files that start programs themselves, each with its reason. */
type Exceptions = Readonly<Record<string, string>>;

/**
 * A program is started by `daemon/host/program_group.ts`, so that it ends with all that it started.
 * Exceptions either start a program that must outlive its caller, or one that starts no others.
 */
export function startedPrograms(sources: Sources, exceptions: Exceptions): string[] {
  const starts = product(sources).filter(({ path, code }) =>
    !path.startsWith("packaging/") &&
    /\bnew Deno\.Command\(|from "node:child_process"|import\("node:child_process"\)/.test(code)
  ).map(({ path }) => path);
  const unused = Object.keys(exceptions).filter((path) =>
    sources.some((source) => source.path === path) && !starts.includes(path)
  );
  return [
    ...starts.filter((path) => !Object.hasOwn(exceptions, path))
      .map((path) => `${path} starts a program`),
    ...unused.map((path) => `${path} starts none`),
  ];
}

/** A contract loads nothing that a browser lacks, at any distance. */
export function unsafeContracts(sources: Sources): string[] {
  return product(sources).filter(isContract).flatMap((contract) =>
    loadedBy(sources, contract, ({ type_only }) => !type_only).flatMap(
      ({ path, code, imports }) => {
        const unsafe = /\bDeno\.|\bprocess\.|node:sqlite/.exec(code)?.[0] ??
          imports.find(({ to, type_only }) => !type_only && /^node:|sqlite/.test(to))?.to;
        return unsafe ? [`${contract.path} loads ${path}, which uses ${unsafe}`] : [];
      },
    )
  );
}

/** The programs and commands that somebody waits for each time, with what they load at once. */
const LIGHT: readonly string[] = [
  "main.ts",
  "cli.ts",
  "cli/programs/hook.ts",
  "cli/client/plain_settings.ts",
  "cli/command/errors.ts",
  "cli/command/line.ts",
  "cli/commands/asks.ts",
  "cli/commands/peer_list.ts",
  "cli/commands/program_commands.ts",
];

/**
 * An agent waits for its hook, and a person for a command, so these load no package and no module
 * of Node's: a single one of them takes as long as Deno takes to start.
 */
export function slowStarts(sources: Sources): string[] {
  const starts = sources.filter(({ path }) => LIGHT.includes(path));
  return starts.flatMap((start) =>
    loadedBy(sources, start, isEager).flatMap(({ path, imports }) =>
      imports.filter(isEager).filter(({ to }) => !/\.ts$/.test(to))
        .map(({ to }) => `${start.path} loads ${path}, which imports ${to}`)
    )
  );
}

/** The modules with which a daemon starts: its own, and those of the agents. */
const DAEMON_START = /^daemon\/app\/main\.ts$|^daemon\/features\/agents\/(\w+)\/\1\.ts$/;

/**
 * A start of the daemon loads neither the dashboard nor modules of Node's, which Deno makes anew
 * in each process: together they would take two fifths of the start, and 6 MB. SQLite takes 1 ms.
 * Nor what only a daemon on a bus needs: the client of NATS, and the keys and links of machines.
 */
const NOT_AT_START =
  /^node:(?!sqlite$)|^dashboard\/|^@nats-io\/|^daemon\/(host\/nats|features\/machines)\//;

export function slowDaemonStarts(sources: Sources): string[] {
  const starts = sources.filter(({ path }) => DAEMON_START.test(path));
  return starts.flatMap((start) =>
    loadedBy(sources, start, isEager).flatMap(({ path, imports }) =>
      imports.filter(isEager).filter(({ to }) => NOT_AT_START.test(to))
        .map(({ to }) => `${start.path} loads ${path}, which imports ${to}`)
    )
  );
}

function isEager({ type_only, lazy }: Import): boolean {
  return !type_only && !lazy;
}

function loadedBy(sources: Sources, start: Source, follows: (found: Import) => boolean): Source[] {
  const loaded = new Set([start]);
  for (const { imports } of loaded) {
    for (const { to } of imports.filter(follows)) {
      const next = sources.find(({ path }) => path === to);
      if (next) loaded.add(next);
    }
  }
  return [...loaded];
}

/** Each table that the migrations create is written in exactly one file. */
export function sharedTables(sources: Sources, migrations: readonly string[]): string[] {
  const tables = migrations.flatMap((sql) =>
    [...sql.matchAll(/create table (\w+)/g)].map(([, table = ""]) => table)
      .filter((table) => !sql.includes(`alter table ${table} rename to`))
  );
  return tables.flatMap((table) => {
    const write = new RegExp(
      `\\b(?:insert(?: or \\w+)? into|replace into|update|delete from)\\s+${table}\\b(?! on)|` +
        `\\btableOf\\("${table}"`,
      "i",
    );
    const writers = product(sources).filter(({ code }) => write.test(code)).map(({ path }) => path);
    return writers.length === 1 ? [] : [`${table}: written in ${writers.join(", ") || "no file"}`];
  });
}

/** Each type of event is published by a file. */
export function unpublishedEvents(sources: Sources, types: readonly string[]): string[] {
  const publishers = product(sources).filter(({ code }) => /\.append\(/.test(code));
  return types.filter((type) => !publishers.some(({ code }) => code.includes(`"${type}"`)));
}

/** Each code of the table of problems is thrown. */
export function unthrownProblems(sources: Sources, codes: readonly string[]): string[] {
  return codes.filter((code) => {
    const thrown = new RegExp(`new (?:Common)?Problem\\(\\s*[^)]*"${code}"`);
    return !product(sources).some((source) => thrown.test(source.code));
  });
}

/** Problems of other layers may come from any route, so only these paths are checked. */
const FEATURES = /^(?:daemon\/features|relay\/(?!app))\//;
const ANY_ROUTE = new Set([
  "unauthorized",
  "internal",
  "storage_failed",
  "storage_unclear",
  "invalid_request",
]);

/** A problem that a feature throws is listed by a contract, unless any route may return it. */
export function unlistedProblems(sources: Sources): string[] {
  const listed = product(sources).filter(isContract).map(({ code }) => code).join();
  return sources.filter(({ path }) => FEATURES.test(path)).flatMap(({ path, code }) =>
    [...code.matchAll(/new Problem\(\s*"(\w+)"/g)].map(([, problem = ""]) => problem)
      .filter((problem) => !ANY_ROUTE.has(problem) && !listed.includes(`"${problem}"`))
      .map((problem) => `${path}: ${problem}`)
  );
}

/** Every contract has a route, and one with a body lists its problems. */
export function incompleteContracts(
  contracts: readonly Pick<Contract, "id" | "body" | "fails">[],
  served: ReadonlySet<unknown>,
): string[] {
  return contracts.flatMap((contract) => [
    ...(served.has(contract) ? [] : [`${contract.id} has no route`]),
    ...(contract.body && !contract.fails ? [`${contract.id} lists no problems`] : []),
  ]);
}
