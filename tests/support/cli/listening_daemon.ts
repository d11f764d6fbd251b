/** A daemon in memory behind a real port, and a `mesh` that finds it: for tests of the CLI. */

import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import type { World } from "../world.ts";
import { capturedTerminal } from "./captured_output.ts";

/** Where `mesh` finds the daemon; stop ends the port and takes the home away, not the world. */
export function serveDaemon(w: World) {
  const home = Deno.makeTempDirSync();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => w.daemon.fetch(request, remoteAddr),
  );
  const env = {
    MESH_CONFIG: join(home, "config.yaml"),
    MESH_STATE: home,
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  return {
    home,
    env,
    url: `http://127.0.0.1:${server.addr.port}`,
    /** Runs a command to its end: its exit code, and what it wrote. */
    async mesh(args: readonly string[], more: Record<string, string> = {}) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli([...args], { ...env, ...more }, terminal, w.clock);
      return { code, ...lines };
    },
    async stop() {
      await server.shutdown();
      Deno.removeSync(home, { recursive: true });
    },
  };
}

/** A world that is ended with its port, and `mesh` with words for arguments. */
export function cliFixture(w: World) {
  const { mesh, stop, ...place } = serveDaemon(w);
  return {
    w,
    ...place,
    mesh: (...args: string[]) => mesh(args),
    async [Symbol.asyncDispose]() {
      await stop();
      await w[Symbol.asyncDispose]();
    },
  };
}
