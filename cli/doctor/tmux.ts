/** Whether tmux can carry messages: tried on a server of our own, never on the user's. */

import { join } from "node:path";
import { checkSocket, whyUnsafeFolder } from "../../daemon/host/trusted_socket.ts";
import { type Check, error, type Found, note, ok, warning } from "./finding.ts";
import type { Machine } from "./machine.ts";

/** The oldest that mesh was tried with (README). */
const PROVED = "3.3";
/** What delivery does: control mode, a buffer, a bracketed paste (architecture 3). */
const TRIAL = ["set-buffer -b mesh hello", "paste-buffer -p -d -b mesh", "kill-server", ""];

export const TMUX: Check = {
  area: "tmux",
  async look(machine) {
    const version = await versionOf(machine);
    if (version === undefined) {
      const detail = "tmux is not on the PATH: agents in terminals can only be reached by hooks";
      return [note("TMUX_MISSING", detail, "install tmux, and start agents inside it")];
    }
    return [versionFound(version), await trial(machine), ...await servers(machine)];
  },
};

/** `3.3a` of `tmux 3.3a`. */
async function versionOf(machine: Machine): Promise<string | undefined> {
  const ran = await machine.run("tmux", ["-V"]);
  return ran?.success ? ran.said.replace(/^tmux /, "") : undefined;
}

function versionFound(version: string): Found {
  const [, major = "", minor = ""] = /(?<!\d)(\d+)\.(\d+)/.exec(version) ?? [];
  const [least_major = 0, least_minor = 0] = PROVED.split(".").map(Number);
  const older = major === "" ? false : Number(major) < least_major ||
    Number(major) === least_major && Number(minor) < least_minor;
  if (!older) return ok("TMUX_FOUND", `tmux ${version}`);
  const detail = `tmux ${version} is older than ${PROVED}, which mesh was tried with`;
  return warning("TMUX_OLD", detail, `use tmux ${PROVED} or newer`);
}

async function trial(machine: Machine): Promise<Found> {
  const socket = `mesh-doctor-${Deno.pid}`;
  const args = ["-L", socket, "-f", "/dev/null", "-C", "new-session", "cat"];
  const ran = await machine.run("tmux", args, TRIAL.join("\n"));
  const answered = [...(ran?.said ?? "").matchAll(/^%end /gm)].length >= TRIAL.length - 1;
  if (ran && answered && !/^%error /m.test(ran.said)) {
    return ok("TMUX_WORKS", "control mode and bracketed paste work");
  }
  await machine.run("tmux", ["-L", socket, "kill-server"]);
  const said = ran?.said.split("\n").find((line) => !line.startsWith("%")) ?? "it does not answer";
  const fix = "try `tmux -L trial -C new-session`; the directory of its sockets must be writable";
  return error("TMUX_BROKEN", `tmux does not do what delivery needs: ${said}`, fix);
}

/** Agents in any of them are reached, but only from the one that they registered with. */
async function servers({ env, ...machine }: Machine): Promise<Found[]> {
  const uid = Deno.uid();
  if (uid === null) return [];
  const dir = join(env["TMUX_TMPDIR"] || "/tmp", `tmux-${uid}`);
  const sockets = machine.names(dir).filter((name) => !name.startsWith("mesh-doctor-"));
  const unsafe = sockets.length > 0 ? whyUnsafeFolder(dir) : undefined;
  if (unsafe !== undefined) {
    const fix =
      `remove ${dir}, or name another folder in TMUX_TMPDIR; messages reach no pane there`;
    return [error("TMUX_UNTRUSTED", `tmux sockets cannot be trusted: ${unsafe}`, fix)];
  }
  const answered = await Promise.all(sockets.map(async (name) => {
    const checked = checkSocket(join(dir, name));
    if (checked.state !== "trusted") return [];
    const ran = await machine.run("tmux", ["-S", checked.path, "list-sessions"]);
    return ran?.success ? [name] : [];
  }));
  const alive = answered.flat().sort();
  if (alive.length < 2) return [];
  const detail = `${alive.length} tmux servers run: ${alive.join(", ")}`;
  return [note("TMUX_SERVERS", detail, "none is needed; `tmux ls` shows only the default one")];
}
