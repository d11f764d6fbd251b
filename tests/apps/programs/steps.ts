/** Steps of the apps in TypeScript: each prints its steps to the harness, one a line. */

import { createInterface } from "node:readline";

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const print = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

/** A request to the harness: `OPEN address`, `EXPIRE` or `REVOKE`. Returns its answer. */
export async function request(line: string): Promise<string> {
  print(line);
  return String((await input.next()).value);
}

/** Reports how a step went. An app goes on after a step that failed. */
export async function step(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    print(`DONE ${name}`);
  } catch (error) {
    print(`FAILED ${name} ${String(error).replaceAll("\n", " ")}`);
  }
}

/** The browser is led to the app, which may begin to listen a moment later. */
export async function visit(address: string): Promise<void> {
  for (let attempts = 0; attempts < 100; attempts++) {
    const answer = await fetch(address).catch(() => undefined);
    if (answer) return void await answer.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
