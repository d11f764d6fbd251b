/** A real daemon and a real surface program, in a state directory of their own. */

import { join } from "node:path";
import { until } from "../waiting.ts";
import { meshArguments } from "../programs/program.ts";

const AUTH_TOKEN = "0123456789abcdef";

/** A program of ours, ended with the test. */
export class Child implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly output: Promise<string>;
  #stopped = false;

  constructor(args: string[], cwd: string, env: Record<string, string>) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: meshArguments(args),
      cwd,
      env: { ...env, MESH_CONFIG: join(cwd, "none.yaml"), MESH_STATE: cwd, NO_COLOR: "1" },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#process.status.then(() => this.#stopped = true);
    this.output = new Response(this.#process.stderr).text();
  }

  async end(signal: Deno.Signal): Promise<number> {
    if (!this.#stopped) this.#process.kill(signal);
    const { code } = await this.#process.status;
    await this.output;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

/** Requests of an agent to the daemon. */
function requests(address: () => string | undefined) {
  const send = (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${AUTH_TOKEN}` };
    return fetch(`${address()}${path}`, { ...init, headers });
  };
  const post = async (path: string, body: BodyInit) =>
    await (await send(path, { method: "POST", body })).json();
  return {
    post: (path: string, body: unknown) => post(path, JSON.stringify(body)),
    upload(filename: string, bytes: Uint8Array<ArrayBuffer>) {
      const body = new FormData();
      body.set("file", new Blob([bytes]), filename);
      return post("/attachments", body);
    },
    get: async (path: string) => await (await send(path)).json(),
    read: async (id: string) => await (await send(`/attachments/${id}`)).text(),
  };
}

/** Programs of one surface, whose settings are in the environment. The human is `sam`. */
export function surfacePrograms(surface: string, settings: Record<string, string>) {
  const cwd = Deno.makeTempDirSync();
  const env = {
    MESH_DAEMON__PORT: "0",
    MESH_DAEMON__AUTH_TOKEN: AUTH_TOKEN,
    MESH_HUMAN__NAME: "sam",
    ...settings,
  };
  const address = () => {
    try {
      return String(JSON.parse(Deno.readTextFileSync(join(cwd, "daemon.json"))).url);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  };
  const { get, ...requested } = requests(address);
  return {
    ...requested,
    get,
    async daemon() {
      const child = new Child(["daemon"], cwd, env);
      await until("daemon.json", address);
      return child;
    },
    async surface() {
      const child = new Child(["surface", surface], cwd, env);
      await this.connected();
      return child;
    },
    connected: () =>
      until("the surface", async () => {
        const { peers } = await get("/peers");
        const there = peers.some((peer: { name: string; ws_connected: boolean }) =>
          peer.name === surface && peer.ws_connected
        );
        return there || undefined;
      }),
    remove: () => Deno.removeSync(cwd, { recursive: true }),
  };
}
