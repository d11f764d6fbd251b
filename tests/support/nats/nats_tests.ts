/** Tests that need a nats-server: they are skipped where none is installed. */

/** True if a program is on the PATH. */
function isInstalled(program: string): boolean {
  try {
    new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const missing = ["nats-server", "openssl"].filter((program) => !isInstalled(program));

/** Reason why no server can run here; undefined if it can. */
export function obstacle(): string | undefined {
  return missing.length > 0 ? `${missing.join(" and ")} is not installed` : undefined;
}

/** Registers a test; its name says which program is missing. */
export function natsTest(name: string, fn: () => Promise<void>): void {
  const reason = obstacle();
  const shown = reason === undefined ? name : `${name} (skipped: ${reason})`;
  Deno.test({ name: shown, ignore: reason !== undefined, fn });
}
