/** A program's writes, syncs and answers, read from what `strace -f -y -xx` has recorded. */

import { readFileSync } from "node:fs";
import { until } from "../../support/waiting.ts";

/** An operation of a traced program. A sync takes effect at its end only. */
export type Operation =
  | { readonly kind: "create" | "make directory" | "unlink"; readonly path: string }
  | { readonly kind: "write"; readonly path: string; readonly offset: number; bytes: Uint8Array }
  | { readonly kind: "truncate"; readonly path: string; readonly size: number }
  | { readonly kind: "rename"; readonly path: string; readonly to: string }
  | { readonly kind: "sync begins" | "sync ends"; readonly path: string; readonly sync: number }
  | { readonly kind: "sent"; readonly text: string };

/** The system calls that `strace` records. */
const CALLS = [
  ...["openat", "open", "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg"],
  ...["fsync", "fdatasync", "sync_file_range", "ftruncate", "fallocate", "copy_file_range"],
  ...["rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat"],
];
/** More than the largest write of a program of ours. */
const STRING_BYTES_MAX = 16_777_216;
/** The threads of a process end within so many characters. */
const TAIL = 100_000;

/** The command line that records a program; the program keeps its process id. */
export function recordedBy(file: string): string[] {
  const calls = `trace=${CALLS.join(",")}`;
  const options = ["-D", "-f", "-y", "-q", "-xx", "--seccomp-bpf", "-s", `${STRING_BYTES_MAX}`];
  return ["strace", ...options, "-e", calls, "-o", file];
}

/** The recording of a process that has ended: strace may still be writing it. */
export async function recordingOf(file: string, pid: number): Promise<string> {
  const ended = new RegExp(`^${pid} +\\+\\+\\+ (?:exited|killed)`, "m");
  return await until("the end of the recording", () => {
    const text = readFileSync(file, "latin1");
    return ended.test(text.slice(-TAIL)) && text;
  });
}

/** Reason why nothing can be recorded here; undefined if recording works. */
export async function obstacle(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "strace exists on Linux only";
  try {
    const probe = new Deno.Command("strace", { args: ["-o", "/dev/null", "true"], stderr: "null" });
    return (await probe.output()).success ? undefined : "strace may not trace processes here";
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return "strace is missing; install the package strace";
  }
}

const LINE = /^(\d+) +(.*)$/;
const CALL = /^(\w+)\((.*)\) += (-?\d+)/s;
const QUOTED = /"((?:\\x[0-9a-f]{2})*)"/g;

/** Reads the operations on files below `root`, and what was sent through sockets. */
export function readTrace(text: string, root: string): Operation[] {
  return [...new TraceReader(root).read(text)];
}

class TraceReader {
  readonly #root: string;
  /** Calls that another thread has interrupted: their first half, by thread. */
  readonly #unfinished = new Map<string, { head: string; sync: number }>();
  /** Offset of the next `write` to a file: the runtime copies a descriptor before it writes. */
  readonly #offsets = new Map<string, number>();
  readonly #sizes = new Map<string, number>();
  #syncs = 0;

  constructor(root: string) {
    this.#root = root;
  }

  *read(text: string): Generator<Operation> {
    for (const line of text.split("\n")) {
      const [, thread = "", rest = ""] = LINE.exec(line) ?? [];
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/s.exec(rest);
      const begun = / <unfinished \.\.\.>$/.exec(rest);
      if (begun) yield* this.#begin(thread, rest.slice(0, begun.index));
      else if (resumed) {
        const { head = "", sync = 0 } = this.#unfinished.get(thread) ?? {};
        this.#unfinished.delete(thread);
        if (!isSend(head, pathOf(head))) yield* this.#finish(head + resumed[1], sync);
      } else if (/^f(?:data)?sync\(/.test(rest)) {
        yield* this.#begin(thread, rest);
        yield* this.#finish(rest, this.#unfinished.get(thread)?.sync ?? 0);
      } else yield* this.#finish(rest, 0);
    }
  }

  *#begin(thread: string, head: string): Generator<Operation> {
    const sync = ++this.#syncs;
    this.#unfinished.set(thread, { head, sync });
    const path = pathOf(head);
    if (/^f(?:data)?sync\(/.test(head) && this.#isOurs(path)) {
      yield { kind: "sync begins", path, sync };
    } else if (isSend(head, path)) {
      // Its receiver may act before the end of the call is recorded.
      yield { kind: "sent", text: latin1(contentOf(head)) };
    }
  }

  *#finish(whole: string, sync: number): Generator<Operation> {
    const [, call = "", args = "", result = "-1"] = CALL.exec(whole) ?? [];
    const returned = Number(result);
    if (returned < 0) return;
    const path = pathOf(whole);
    const isOurs = this.#isOurs(path);
    if (/^f(?:data)?sync$/.test(call) && isOurs) yield { kind: "sync ends", path, sync };
    else if (isSend(call, path)) {
      yield { kind: "sent", text: latin1(contentOf(args)) };
    } else if (/write/.test(call) && isOurs) {
      yield this.#write(call, { path, args, bytes: contentOf(args).subarray(0, returned) });
    } else if (call === "ftruncate" && isOurs) {
      const size = Number(args.slice(args.lastIndexOf(",") + 1));
      this.#sizes.set(path, size);
      yield { kind: "truncate", path, size };
    } else if (call === "copy_file_range") yield* this.#copy(args, returned);
    else yield* this.#ofPaths(call, args);
  }

  #write(
    call: string,
    { path, args, bytes }: { path: string; args: string; bytes: Uint8Array },
  ): Operation {
    if (call === "pwritev2") throw notModelled(call);
    const isPositioned = call.startsWith("p");
    const given = Number(args.slice(args.lastIndexOf(",") + 1));
    const offset = isPositioned ? given : this.#offsets.get(path) ?? 0;
    if (!isPositioned) this.#offsets.set(path, offset + bytes.length);
    this.#sizes.set(path, Math.max(this.#sizes.get(path) ?? 0, offset + bytes.length));
    return { kind: "write", path, offset, bytes };
  }

  /** The recording lacks bytes that the kernel copies, so they are read from the copied file. */
  *#copy(args: string, length: number): Generator<Operation> {
    const [from = "", path = ""] = [...args.matchAll(/\d+<([^>]*)>/g)]
      .map(([, name = ""]) => latin1(fromEscapes(name)));
    if (!this.#isOurs(path) || length === 0) return;
    const offset = this.#offsets.get(path) ?? 0;
    const bytes = readFileSync(from).subarray(offset, offset + length);
    yield this.#write("write", { path, args, bytes });
  }

  /** Calls that name files and not descriptors. */
  *#ofPaths(call: string, args: string): Generator<Operation> {
    const paths = [...args.matchAll(QUOTED)].map(([, text = ""]) => latin1(fromEscapes(text)));
    const [path = "", to = ""] = paths;
    if (!this.#isOurs(path)) return;
    if (call.startsWith("open")) {
      if (!/O_WRONLY|O_RDWR/.test(args)) return;
      this.#offsets.set(path, /O_APPEND/.test(args) ? this.#sizes.get(path) ?? 0 : 0);
      if (/O_CREAT/.test(args)) yield { kind: "create", path };
      if (/O_TRUNC/.test(args)) yield { kind: "truncate", path, size: 0 };
    } else if (call.startsWith("rename")) yield { kind: "rename", path, to };
    else if (call.startsWith("unlink")) yield { kind: "unlink", path };
    else if (call.startsWith("mkdir")) yield { kind: "make directory", path };
    else throw notModelled(call);
  }

  #isOurs(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }
}

function notModelled(call: string): Error {
  return new Error(`The recording has a call that is not modelled: ${call}`);
}

/** The file or socket behind the descriptor that a call names first. */
function pathOf(call: string): string {
  return latin1(fromEscapes(/^\w+\(\d+<([^>]*)>/.exec(call)?.[1] ?? ""));
}

function isSend(call: string, path: string): boolean {
  return /^(?:send|write)/.test(call) && path.startsWith("socket:");
}

/** The bytes of all buffers of a write. */
function contentOf(args: string): Uint8Array {
  const buffers = [...args.matchAll(QUOTED)].map(([, text = ""]) => fromEscapes(text));
  return buffers.length === 1 ? buffers[0] as Uint8Array : concatenate(buffers);
}

function concatenate(buffers: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(buffers.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const buffer of buffers) {
    all.set(buffer, at);
    at += buffer.length;
  }
  return all;
}

/** A name that strace writes itself, such as that of a socket, is not escaped. */
function fromEscapes(text: string): Uint8Array {
  if (!text.startsWith("\\x")) return new TextEncoder().encode(text);
  return Uint8Array.fromHex(text.replaceAll("\\x", ""));
}

/** Message ids and JSON keys are ASCII, so nothing that is searched for is lost. */
function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
