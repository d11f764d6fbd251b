/** Migrated databases, mostly in memory: each is a copy of one that was migrated once. */

import { statSync } from "node:fs";
import { join } from "node:path";
import { FakeClock } from "./clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { migrations } from "../../daemon/app/migrations/migrations.ts";

/** Files in this folder are in memory. Where it is missing, each test migrates for itself. */
const MEMORY = "/dev/shm";

/** The image's file, beside the parts that the runner of all tests has built. */
const IMAGE = "migrated.db";
const TESTED_PARTS = Deno.env.get("TESTED_PARTS");

let image: Uint8Array | undefined;

/**
 * Opens a new database by its path, with its migrations done where that is possible: they take
 * eight times as long as the rest of a world's start. The files are unlinked once they are
 * open, so that a killed test leaves nothing behind.
 */
export function withMigratedDatabase<T>(open: (path: string) => T): T {
  if (!hasMemory()) return open(":memory:");
  return inMemory((path) => {
    Deno.writeFileSync(path, migratedImage());
    return open(path);
  });
}

/** The file of a new database, with its migrations done. */
export function migratedImage(): Uint8Array {
  return image ??= TESTED_PARTS ? Deno.readFileSync(join(TESTED_PARTS, IMAGE)) : migratedFile();
}

/** Writes the image for all tests, which then need not make it. */
export function writeImage(tested_parts: string): void {
  Deno.writeFileSync(join(tested_parts, IMAGE), migratedFile());
}

/**
 * Writes it into a state directory that has no database: without the migrations, a daemon's first
 * start takes a quarter less.
 */
export function writeMigratedDatabase(state: string): void {
  writeMigratedFile(join(state, "mesh.db"));
}

/** Writes it to a path where no database is, or an empty file. */
export function writeMigratedFile(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) Deno.writeFileSync(path, migratedImage(), { mode: 0o600 });
}

/** Makes a folder whose files are in memory, where that is possible. */
export function makeMemoryDir(prefix: string): string {
  return Deno.makeTempDirSync({ prefix, ...(hasMemory() && { dir: MEMORY }) });
}

function migratedFile(): Uint8Array {
  return inMemory((path) => {
    const clock = new FakeClock();
    const log = jsonLog(clock, "error", () => undefined);
    new Database(path, migrations, log, clock)[Symbol.dispose]();
    return Deno.readFileSync(path);
  });
}

function inMemory<T>(work: (path: string) => T): T {
  const dir = makeMemoryDir("mesh-test-");
  try {
    return work(join(dir, "mesh.db"));
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
}

function hasMemory(): boolean {
  try {
    return Deno.statSync(MEMORY).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
