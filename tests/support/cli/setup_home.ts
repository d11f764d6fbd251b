/** A temporary home for tests of `mesh setup` and of the doctor's view of the same files. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { checkAgent } from "../../../cli/doctor/agents.ts";
import type { CheckResult } from "../../../cli/doctor/finding.ts";
import { thisMachine } from "../../../cli/doctor/machine.ts";
import { SETUP_AGENTS } from "../../../cli/setup/agents.ts";
import { runSetup } from "./run_setup.ts";

export class SetupHome implements Disposable {
  readonly dir = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-setup-" }));
  readonly env: Record<string, string> = {
    HOME: this.dir,
    PATH: `${this.dir}/bin`,
    MESH_DAEMON__AUTH_TOKEN: "t".repeat(40),
  };

  at(path: string): string {
    return join(this.dir, path);
  }

  write(path: string, content: string | Uint8Array, mode = 0o644): string {
    Deno.mkdirSync(dirname(this.at(path)), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    Deno.writeFileSync(this.at(path), bytes);
    Deno.chmodSync(this.at(path), mode);
    return this.at(path);
  }

  read(path: string): string {
    return Deno.readTextFileSync(this.at(path));
  }

  /** The files of the home by path: their texts, or the targets of links. */
  get files(): Record<string, string> {
    const inside = (dir: string): [string, string][] =>
      [...Deno.readDirSync(dir)].flatMap(({ name, isDirectory, isFile }): [string, string][] => {
        const path = `${dir}/${name}`;
        if (isDirectory) return inside(path);
        const content = isFile
          ? new TextDecoder("latin1").decode(Deno.readFileSync(path))
          : "no file";
        return [[path.slice(this.dir.length + 1), content]];
      });
    return Object.fromEntries(inside(this.dir).sort());
  }

  async setup(...args: string[]): Promise<{ code: number; text: string }> {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    const code = await runSetup(args, this.env, { out: print, err: print });
    return { code, text: lines.join("\n") };
  }

  /** The answer of `mesh setup --json`. */
  async setupJson(...args: string[]) {
    const out: string[] = [];
    const output = { out: (line: string) => void out.push(line), err: () => {} };
    const code = await runSetup([...args, "--json"], this.env, output);
    return { code, answer: JSON.parse(out.join("\n")) };
  }

  /** The doctor's findings about an agent, by code. */
  async doctor(agent: string): Promise<Map<string, CheckResult>> {
    const definition = SETUP_AGENTS.find(({ id }) => id === agent) ?? assert.fail();
    const found = await checkAgent(definition, thisMachine(this.env, systemClock));
    return new Map(found.map((result) => [result[1], result]));
  }

  [Symbol.dispose](): void {
    for (const { name, isDirectory } of Deno.readDirSync(this.dir)) {
      if (isDirectory) Deno.chmodSync(this.at(name), 0o700);
    }
    Deno.removeSync(this.dir, { recursive: true });
  }
}
