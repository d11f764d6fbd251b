/** The identity file of an agent: a restarted agent is the same peer with the same session. */

import type { Ids } from "kit/core/clock.ts";
import { join } from "kit/core/path.ts";
import { tryJson } from "kit/core/text.ts";
import * as z from "zod";
import {
  type Env,
  readTextOrNothing,
  removeIfPresent,
  statePath,
} from "../../daemon/host/paths.ts";

/** Maximum number of identity files. The files of programs that ran longest ago are removed. */
export const IDENTITIES_MAX = 200;

const CLIENT_ID_BYTES = 16;

const StoredIdentity = z.object({
  client_id: z.string().min(1),
  session_id: z.string().optional(),
});

/** Identifies the same program in the same folder, under the same name and in the same circle. */
export interface Program {
  readonly argv: readonly string[];
  readonly name: string;
  readonly circle: string | undefined;
  readonly cwd: string;
}

export class Identity implements Disposable {
  readonly #file: Deno.FsFile | undefined;
  readonly client_id: string;
  /** The agent's session when it ran last. */
  readonly session_id: string | undefined;

  private constructor(file: Deno.FsFile | undefined, kept: z.output<typeof StoredIdentity>) {
    this.#file = file;
    this.client_id = kept.client_id;
    this.session_id = kept.session_id;
  }

  /** Opens the identity of a program. While the program runs, another run gets an unstored one. */
  static async open(env: Env, program: Program, ids: Pick<Ids, "hex">): Promise<Identity> {
    const folder = join(statePath(env), "acp");
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${await digestOf(program)}.json`);
    const fresh = { client_id: ids.hex(CLIENT_ID_BYTES) };
    const options = { read: true, write: true, create: true, mode: 0o600 } as const;
    const file = Deno.openSync(path, options);
    if (!file.tryLockSync(true)) {
      file.close();
      return new Identity(undefined, fresh);
    }
    const kept = StoredIdentity.safeParse(tryJson(readTextOrNothing(path) ?? ""));
    removeOldest(folder, path);
    return new Identity(file, kept.success ? kept.data : fresh);
  }

  /** Keeps the session for the next start. */
  keep(session_id: string): void {
    const { client_id } = this;
    const bytes = new TextEncoder().encode(JSON.stringify({ client_id, session_id }));
    if (!this.#file) return;
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#file.truncateSync();
    this.#file.writeSync(bytes);
    this.#file.syncSync();
  }

  [Symbol.dispose](): void {
    this.#file?.close();
  }
}

async function digestOf({ argv, name, circle, cwd }: Program): Promise<string> {
  const text = JSON.stringify([argv, name, circle ?? null, cwd]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex().slice(0, 32);
}

function removeOldest(folder: string, own: string): void {
  const files = Array.from(Deno.readDirSync(folder), ({ name }) => join(folder, name))
    .filter((path) => path !== own);
  const byAge = files.map((path) => ({ path, at: Deno.statSync(path).mtime?.getTime() ?? 0 }))
    .toSorted((a, b) => a.at - b.at);
  for (const { path } of byAge.slice(0, Math.max(0, files.length + 1 - IDENTITIES_MAX))) {
    removeIfPresent(path);
  }
}
