/** `mesh restore`: replaces the daemon's database by a backup. */

import { DatabaseSync } from "node:sqlite";
import { join, resolve } from "kit/core/path.ts";
import { makeDirectory, syncDirectory, syncFile } from "kit/host/durable_files.ts";
import { onFile } from "kit/host/file_errors.ts";
import { MARK_RESTORED } from "../../../daemon/app/identity.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { removeIfPresent, statePath } from "../../../daemon/host/paths.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { CommandError, onFiles } from "../../client/failures.ts";
import { startDaemon, stopDaemon } from "../../client/daemon_process.ts";
import { answerCommand, type Args, type CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { exists, mustBeWhole } from "./backup.ts";

/** Maximum number of replaced databases that are kept. */
const REPLACED_MAX = 2;
const DATABASE = "mesh.db";
const REPLACED = "mesh.db.replaced-";
/** The checked copy of the backup. */
const FRESH = "mesh.db.restoring";
/** The first bytes of each SQLite database. */
const MAGIC = "SQLite format 3\0";

export const RESTORE_COMMAND = answerCommand({
  usage: "restore <file>",
  needs: "this machine",
  summary: "Replace the daemon's database by a backup",
  details: "The file is one of `mesh backup`, or a copy that mesh made before a new version " +
    "changed the database. It is checked and copied; the file itself stays. The present database " +
    "is kept beside it (mesh.db.replaced-<time>; the last two are kept). Messages that were " +
    "accepted since the backup are gone here; other machines send again what still waits for " +
    "this one. Uploaded files and the configuration are left as they are.",
  flags: {
    "--yes": "stop the daemon if it runs, and start it again afterwards",
    "--other-daemon": "also take the backup of another daemon, whose id this machine then has; " +
      "that daemon must never run again",
  },
  example: "mesh restore ~/mesh-backup.db --yes",
  call: restore,
  show: ({ file, lost_messages, replaced, started }, { terminal }) => {
    terminal.print(styled("green", "Restored"), ` ${file}`);
    const lost = lost_messages === null
      ? "not known, because the present database cannot be read"
      : String(lost_messages);
    terminal.printFields({
      "messages since": lost,
      "kept before": replaced ?? undefined,
      daemon: started === null ? "not started, because it did not run" : `runs at ${started}`,
    });
  },
});

interface Backup {
  readonly daemon_id: string;
  readonly version: number;
  /** The row number of its last message. */
  readonly last: number;
}

async function restore(context: CommandContext, args: Args) {
  const { env, clock } = context;
  const state = statePath(env);
  const target = join(state, DATABASE);
  const file = resolve(Deno.cwd(), args.text("file"));
  const fresh = join(state, FRESH);
  mustBeBackup(file);
  onFile("create", state, () => makeDirectory(state));
  copyChecked(file, fresh);
  try {
    const backup = readBackup(fresh, file);
    mustBeOf(backup, idOf(target), args.flag("otherDaemon"));
    const runs = runningDaemon(env) !== undefined;
    if (runs && !args.flag("yes")) {
      throw new CommandError(
        "The daemon is running; nothing was changed. Stop it with `mesh down`, or pass --yes: it " +
          "is then stopped, and started again afterwards",
      );
    }
    if (runs) await stopDaemon(context);
    const { lost_messages, replaced } = replace(state, backup, clock.now());
    const started = runs ? (await startDaemon(context)).url : null;
    return { file, daemon_id: backup.daemon_id, lost_messages, replaced, started };
  } finally {
    removeIfPresent(fresh);
  }
}

/** Refuses a file that is no SQLite database, before anything is written. */
function mustBeBackup(file: string): void {
  const info = onFile("read", file, () => Deno.statSync(file));
  if (info.isDirectory) {
    throw new CommandError(`"${file}" is a directory; name the file that \`mesh backup\` made`);
  }
  if (onFile("read", file, () => isDatabase(file))) return;
  const found = info.size === 0 ? "is empty" : "is no SQLite database";
  throw new CommandError(`"${file}" ${found}; name the file that \`mesh backup\` made`);
}

function isDatabase(path: string): boolean {
  using opened = Deno.openSync(path);
  const bytes = new Uint8Array(MAGIC.length);
  return new TextDecoder().decode(bytes.subarray(0, opened.readSync(bytes) ?? 0)) === MAGIC;
}

/** Copies a database together with its write-ahead log, and checks the copy. */
function copyChecked(file: string, fresh: string): void {
  removeIfPresent(fresh);
  onFiles(`Cannot copy "${file}" to "${fresh}"`, () => {
    Deno.openSync(fresh, { write: true, createNew: true, mode: 0o600 }).close();
    try {
      using from = new DatabaseSync(file, { readOnly: true });
      mustBeWhole(from, "it");
      from.prepare("vacuum into ?").run(fresh);
    } catch (error) {
      removeIfPresent(fresh);
      throw error;
    }
  });
}

function readBackup(fresh: string, file: string): Backup {
  using db = new DatabaseSync(fresh, { readOnly: true });
  const has = (table: string) =>
    db.prepare("select 1 from sqlite_schema where name = ?").get(table) !== undefined;
  if (has("oauth_issuer")) {
    throw new CommandError(
      `"${file}" is the database of a relay. Stop the relay, and put the file where ` +
        "RELAY_OAUTH_DB says",
    );
  }
  const daemon_id = has("meta") && has("messages") ? daemonIdIn(db) : undefined;
  if (daemon_id === undefined) {
    throw new CommandError(`"${file}" is a database of another program, not a backup of mesh`);
  }
  const { user_version: version } = db.prepare("pragma user_version").get() ?? {};
  if (Number(version) > migrations.length) {
    throw new CommandError(
      `"${file}" has schema ${version}, and this version of mesh supports up to ` +
        `${migrations.length}; update mesh first (mesh update)`,
    );
  }
  const { seq } = db.prepare("select seq from sqlite_sequence where name = 'messages'").get() ?? {};
  return { daemon_id, version: Number(version), last: Number(seq ?? 0) };
}

function mustBeOf(backup: Backup, present: string | undefined, takesOther: boolean): void {
  if (present === undefined || present === backup.daemon_id || takesOther) return;
  throw new CommandError(
    `The backup is of daemon ${backup.daemon_id}, and this machine's is ${present}; nothing was ` +
      "changed. To make this machine that daemon, which must then never run elsewhere, pass " +
      "--other-daemon",
  );
}

/**
 * Replaces the database by the checked copy, under the lock of the daemon. The name always refers
 * to one whole database, so a daemon that starts after a crash opens either the old or the new one.
 */
function replace(state: string, { last }: Backup, now: number) {
  const [target, fresh] = [join(state, DATABASE), join(state, FRESH)];
  return onFiles(`Cannot replace "${target}"`, () => {
    const options = { create: true, read: true, write: true, mode: 0o600 };
    using lock = Deno.openSync(join(state, "lock"), options);
    if (!lock.tryLockSync(true)) throw new Error("a daemon has started meanwhile; try again");
    const lost_messages = exists(target) ? countSince(target, last) : 0;
    markRestored(fresh, { at: now, lost_messages }); // The daemon shows it.
    syncFile(fresh);
    const replaced = exists(target) ? keep(state, target, now) : null;
    Deno.renameSync(fresh, target);
    syncDirectory(state);
    return { lost_messages, replaced };
  });
}

/** Gives the present database a second name. Its own name then passes to the copy in one step. */
function keep(state: string, target: string, now: number): string {
  const time = new Date(now).toISOString().replaceAll(/[-:.]/g, "");
  const kept = join(state, `${REPLACED}${time}`);
  Deno.linkSync(target, kept);
  // A crash, or a database that cannot be opened, leaves these files. SQLite must not apply them to
  // the copy.
  for (const suffix of ["-wal", "-shm"]) {
    if (exists(`${target}${suffix}`)) Deno.renameSync(`${target}${suffix}`, `${kept}${suffix}`);
  }
  const names = [...Deno.readDirSync(state)].map(({ name }) => name);
  const older = names.filter((name) => name.startsWith(REPLACED) && !/-(wal|shm)$/.test(name))
    .toSorted().toReversed().slice(REPLACED_MAX);
  for (const name of older) {
    for (const suffix of ["", "-wal", "-shm"]) removeIfPresent(join(state, `${name}${suffix}`));
  }
  return kept;
}

/** Number of messages in the present database that the backup lacks; null if it is unreadable. */
function countSince(target: string, last: number): number | null {
  if (!isDatabase(target)) return null; // SQLite would delete the log beside it.
  try {
    using db = new DatabaseSync(target);
    db.exec("pragma wal_checkpoint(truncate)");
    const counting = db.prepare("select count(*) as count from messages where seq > ?");
    return Number(counting.get(last)?.["count"]);
  } catch { // A damaged database is a reason to restore.
    return null;
  }
}

function markRestored(fresh: string, restored: { at: number; lost_messages: number | null }): void {
  using db = new DatabaseSync(fresh);
  db.prepare(MARK_RESTORED).run(JSON.stringify(restored));
}

function idOf(path: string): string | undefined {
  if (!exists(path)) return undefined;
  try {
    using db = new DatabaseSync(path, { readOnly: true });
    return daemonIdIn(db);
  } catch { // A damaged database: see `countSince`.
    return undefined;
  }
}

function daemonIdIn(db: DatabaseSync): string | undefined {
  const { value } = db.prepare("select value from meta where key = 'daemon_id'").get() ?? {};
  return typeof value === "string" ? value : undefined;
}
