/**
 * A disk that forgets: it knows which writes were synced, and makes the files that a loss of power
 * could leave. A file's name is durable only once its directory was synced.
 */

import { dirname } from "node:path";
import type { Chance } from "../../support/seeded_random.ts";
import type { Operation } from "./trace.ts";

/** Fates of writes that no sync has covered. */
export const LOSSES = ["dropped", "reordered", "torn at 512", "torn at 4096"] as const;
export type Loss = typeof LOSSES[number];

type Write = Extract<Operation, { kind: "write" | "truncate" }>;

interface File {
  readonly isDirectory: boolean;
  readonly durable: Content;
  pending: Write[];
}

/** A change of a directory that was not synced yet. */
interface NameChange {
  readonly path: string;
  /** Undefined if the name was removed. */
  readonly file: File | undefined;
}

interface Sync {
  readonly path: string;
  readonly file: File | undefined;
  /** The pending writes or changes of names that the sync covers. */
  readonly covered: ReadonlySet<unknown>;
}

/** Files by their path. */
export type Image = ReadonlyMap<string, Uint8Array>;

export class ForgetfulDisk {
  /** The names that the program sees. */
  readonly #names = new Map<string, File>();
  readonly #durableNames = new Map<string, File>();
  readonly #changes = new Map<string, NameChange[]>();
  readonly #syncs = new Map<number, Sync>();

  apply(operation: Operation): void {
    switch (operation.kind) {
      case "create":
      case "make directory":
        if (this.#names.has(operation.path)) return;
        return void this.#create(operation.path, operation.kind === "make directory");
      case "write":
      case "truncate":
        return void this.#file(operation.path).pending.push(operation);
      case "rename": {
        const file = this.#file(operation.path);
        this.#change(operation.to, file);
        return this.#change(operation.path, undefined);
      }
      case "unlink":
        return this.#change(operation.path, undefined);
      case "sync begins": {
        const { path, sync } = operation;
        const found = this.#names.get(path);
        const file = found?.isDirectory ? undefined : found;
        const pending: readonly unknown[] = file?.pending ?? this.#changes.get(path) ?? [];
        return void this.#syncs.set(sync, { path, file, covered: new Set(pending) });
      }
      case "sync ends":
        return this.#sync(operation.sync);
    }
  }

  /** The files as a loss of power leaves them now. */
  image(loss: Loss, chance: Chance): Image {
    const names = new Map(this.#durableNames);
    if (loss !== "dropped") {
      for (const changes of this.#changes.values()) {
        // A directory loses its last changes, never one in between.
        changes.slice(0, chance.below(changes.length + 1)).forEach((change) =>
          rename(names, change)
        );
      }
    }
    const isReachable = (path: string): boolean =>
      !this.#names.has(path) || (names.has(path) && isReachable(dirname(path)));
    const files = [...names].filter(([path, { isDirectory }]) => !isDirectory && isReachable(path));
    return new Map(files.map(([path, file]) => [path, contentOf(file, loss, chance)]));
  }

  #create(path: string, isDirectory = false): File {
    const file = { isDirectory, durable: new Content(), pending: [] };
    this.#change(path, file);
    return file;
  }

  #file(path: string): File {
    return this.#names.get(path) ?? this.#create(path);
  }

  #change(path: string, file: File | undefined): void {
    rename(this.#names, { path, file });
    this.#changes.getOrInsertComputed(dirname(path), () => []).push({ path, file });
  }

  #sync(number: number): void {
    const { path, file, covered } = this.#syncs.get(number) as Sync;
    this.#syncs.delete(number);
    if (file) {
      const [synced, rest] = partition(file.pending, covered);
      file.pending = rest;
      synced.forEach((write) => file.durable.apply(write));
    } else {
      const [synced, rest] = partition(this.#changes.get(path) ?? [], covered);
      this.#changes.set(path, rest);
      synced.forEach((change) => rename(this.#durableNames, change));
    }
  }
}

function partition<T>(all: readonly T[], covered: ReadonlySet<unknown>): [covered: T[], rest: T[]] {
  return [
    all.filter((change) => covered.has(change)),
    all.filter((change) => !covered.has(change)),
  ];
}

function rename(names: Map<string, File>, { path, file }: NameChange): void {
  if (file) names.set(path, file);
  else names.delete(path);
}

function contentOf({ durable, pending }: File, loss: Loss, chance: Chance): Uint8Array {
  if (loss === "dropped") return durable.bytes;
  const kept = loss === "reordered"
    ? pending.filter(() => chance.oneIn(2))
    : pending.flatMap((write) => tear(write, loss === "torn at 512" ? 512 : 4096, chance));
  const left = durable.copy();
  kept.forEach((write) => left.apply(write));
  return left.bytes;
}

/** The sectors of a write that reached the disk. The file may have grown by what is missing. */
function tear(write: Write, sector: number, chance: Chance): Write[] {
  if (write.kind === "truncate") return chance.oneIn(2) ? [write] : [];
  const { path, offset, bytes } = write;
  const sectors: Write[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Math.min(sector - (offset + at) % sector, bytes.length - at);
    if (chance.oneIn(2)) {
      sectors.push({ ...write, offset: offset + at, bytes: bytes.subarray(at, at + length) });
    }
    at += length;
  }
  const grown: Write = { kind: "write", path, offset: offset + bytes.length, bytes: EMPTY };
  return chance.oneIn(2) ? [grown, ...sectors] : sectors;
}

const EMPTY = new Uint8Array();

/** The bytes of a file. A gap before a write is filled with zeros. */
class Content {
  #buffer = new Uint8Array();
  #size = 0;

  /** Valid until the next change. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  copy(): Content {
    const copy = new Content();
    copy.#buffer = this.bytes.slice();
    copy.#size = this.#size;
    return copy;
  }

  apply(write: Write): void {
    if (write.kind === "truncate") return this.#resize(write.size);
    const end = write.offset + write.bytes.length;
    if (end > this.#size) this.#resize(end);
    this.#buffer.set(write.bytes, write.offset);
  }

  #resize(size: number): void {
    if (size < this.#size) this.#buffer.fill(0, size, this.#size);
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(size * 2);
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#size = size;
  }
}
