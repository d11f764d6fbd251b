/** A temporary home for tests of `mesh doctor`, and a daemon whose answers a test may change. */

import { dirname, join as pathOf } from "node:path";
import { runCli } from "../../../cli.ts";
import { type World, world, type WorldOptions } from "../world.ts";
import { capturedTerminal } from "./captured_output.ts";

export interface Finding {
  readonly area: string;
  readonly code: string;
  readonly severity: string;
  readonly detail: string;
  readonly fix: string | null;
}

/** A temporary home, state directory and PATH. */
export function doctorFixture() {
  const dir = Deno.makeTempDirSync();
  const path = (...args: string[]) => pathOf(dir, ...args);
  for (const name of ["bin", "state"]) Deno.mkdirSync(path(name), { mode: 0o700 });
  const env: Record<string, string> = {
    HOME: dir,
    PATH: path("bin"),
    MESH_CONFIG: path("config.yaml"),
    MESH_STATE: path("state"),
  };
  return {
    env,
    path,
    write(name: string, text: string, mode = 0o600): string {
      Deno.mkdirSync(dirname(path(name)), { recursive: true, mode: 0o700 });
      Deno.writeTextFileSync(path(name), text, { mode });
      Deno.chmodSync(path(name), mode);
      return path(name);
    },
    async doctor(...args: string[]) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(["doctor", ...args], env, terminal);
      return { code, ...lines };
    },
    async find(): Promise<{ code: number; found: Map<string, Finding> }> {
      const { code, out } = await this.doctor("--json");
      const { findings }: { findings: Finding[] } = JSON.parse(out);
      return { code, found: new Map(findings.map((finding) => [finding.code, finding])) };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

/** A listening world whose answers a test may change. */
export function listeningDaemon(
  settings: WorldOptions["settings"] = {},
  change: (request: Request, w: World) => Response | undefined = () => undefined,
) {
  const w = world({ settings: { ...settings, "daemon.allowed_hosts": "[127.0.0.1]" } });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request, { remoteAddr }) => change(request, w) ?? w.daemon.fetch(request, remoteAddr),
  );
  return {
    w,
    port: String(server.addr.port),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await w[Symbol.asyncDispose]();
    },
  };
}

/** A port where nothing listens. */
export function freePort(): string {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  listener.close();
  return String(listener.addr.port);
}
