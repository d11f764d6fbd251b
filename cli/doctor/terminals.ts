/**
 * The doctor's checks of the terminals. tmux is tried in a private server, and the user's server is
 * never changed; kitty is asked whether mesh may read its windows and type.
 */

import { join } from "kit/core/path.ts";
import { unlessError } from "kit/host/file_errors.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { checkSocket, whyUnsafeFolder } from "../../daemon/host/trusted_socket.ts";
import type { Check, CheckResult } from "./finding.ts";
import { isInaccessible, type Machine } from "./machine.ts";
import { accessTo } from "../../daemon/host/kitty/remote_control.ts";
import { kindOf, kittyAddressOf, paneOf } from "../../daemon/host/terminal_addresses.ts";

/** The oldest version that mesh was tested with (README). */
const TESTED_VERSION_MIN = "3.3";
/** The tmux commands that delivery needs: control mode, buffers and bracketed paste. */
const PROBE_COMMANDS = [
  "set-buffer -b mesh hello",
  "paste-buffer -p -d -b mesh -t probe:",
  "kill-server",
  "",
];

export const TMUX: Check = {
  area: "tmux",
  async run(machine) {
    const version = await getVersion(machine);
    if (version === undefined) {
      const detail =
        "tmux is not on the PATH: agents in terminals are only reachable by their hooks";
      return [["note", "TMUX_MISSING", detail, "install tmux, and start agents inside it"]];
    }
    return [versionFinding(version), await probeTmux(machine), ...await servers(machine)];
  },
};

/** The installed version of tmux, such as `3.3a`. */
async function getVersion(machine: Machine): Promise<string | undefined> {
  const result = await machine.run("tmux", ["-V"]);
  return result?.success ? result.output.replace(/^tmux /, "") : undefined;
}

function versionFinding(version: string): CheckResult {
  const [, major = "", minor = ""] = /(?<!\d)(\d+)\.(\d+)/.exec(version) ?? [];
  const [minMajor = 0, minMinor = 0] = TESTED_VERSION_MIN.split(".").map(Number);
  const isOlder = major === "" ? false : Number(major) < minMajor ||
    Number(major) === minMajor && Number(minor) < minMinor;
  if (!isOlder) return ["ok", "TMUX_FOUND", `tmux ${version}`];
  const detail = `tmux ${version} is older than ${TESTED_VERSION_MIN}, the oldest tested version`;
  return ["warning", "TMUX_OLD", detail, `use tmux ${TESTED_VERSION_MIN} or newer`];
}

async function probeTmux(machine: Machine): Promise<CheckResult> {
  const socket = `mesh-doctor-${Deno.pid}`;
  try {
    return await probeServer(machine, socket);
  } finally {
    // tmux leaves the socket of a server that has ended.
    unlessError(isInaccessible, () => Deno.removeSync(join(socketFolder(machine.env), socket)));
  }
}

async function probeServer(machine: Machine, socket: string): Promise<CheckResult> {
  // A client in control mode may run commands before the session that it starts is there.
  const start = ["-L", socket, "-f", "/dev/null", "new-session", "-d", "-s", "probe", "cat"];
  const attach = ["-L", socket, "-C", "attach-session", "-t", "probe"];
  const started = await machine.run("tmux", start);
  const result = started?.success
    ? await machine.run("tmux", attach, PROBE_COMMANDS.join("\n"))
    : started;
  const responsive =
    [...(result?.output ?? "").matchAll(/^%end /gm)].length >= PROBE_COMMANDS.length - 1;
  if (result && responsive && !/^%error /m.test(result.output)) {
    return ["ok", "TMUX_WORKS", "control mode and bracketed paste work"];
  }
  await machine.run("tmux", ["-L", socket, "kill-server"]);
  const output = result?.output.split("\n").find((line) => !line.startsWith("%")) ??
    "no answer";
  const fix = "try `tmux -L trial -C new-session`; the folder of its sockets must be writable";
  return ["error", "TMUX_BROKEN", `tmux lacks a function that delivery needs: ${output}`, fix];
}

/** The folder in which tmux keeps the sockets of this user's servers. */
function socketFolder(env: Env): string {
  return join(env["TMUX_TMPDIR"] || "/tmp", `tmux-${Deno.uid()}`);
}

/**
 * Reports whether there are several tmux servers, and whether other users can change the socket
 * folder.
 */
async function servers({ env, ...machine }: Machine): Promise<CheckResult[]> {
  if (Deno.uid() === null) return [];
  const dir = socketFolder(env);
  const sockets = machine.names(dir).filter((name) => !name.startsWith("mesh-doctor-"));
  const unsafe = sockets.length > 0 ? whyUnsafeFolder(dir) : undefined;
  if (unsafe !== undefined) {
    const fix =
      `remove ${dir}, or set TMUX_TMPDIR to another folder; until then no pane is reachable`;
    return [["error", "TMUX_UNTRUSTED", `tmux sockets cannot be trusted: ${unsafe}`, fix]];
  }
  const responsive = await Promise.all(sockets.map(async (name) => {
    const checked = checkSocket(join(dir, name));
    if (checked.state !== "trusted") return [];
    const result = await machine.run("tmux", ["-S", checked.path, "list-sessions"]);
    return result?.success ? [name] : [];
  }));
  const running = responsive.flat().sort();
  if (running.length < 2) return [];
  const detail = `${running.length} tmux servers are running: ${running.join(", ")}`;
  const fix = "no action needed; `tmux ls` lists only the default one";
  return [["note", "TMUX_SERVERS", detail, fix]];
}

const KITTY_FIX = "in kitty.conf, set `allow_remote_control socket-only` and " +
  "`listen_on unix:${XDG_RUNTIME_DIR}/kitty`, and start kitty again";

export const KITTY: Check = {
  area: "kitty",
  async run({ env, clock }) {
    const pane = paneOf(env);
    const isInTmux = pane !== undefined && kindOf(pane.tmux_socket) === "tmux";
    if (env["KITTY_WINDOW_ID"] === undefined || isInTmux) return [];
    const address = kittyAddressOf(env);
    if (address === undefined) {
      const detail = "this kitty listens on no socket of yours: agents in it are not typed to";
      return [["note", "KITTY_CLOSED", detail, KITTY_FIX]];
    }
    const access = await accessTo(address, clock);
    if (access.state === "allowed") {
      return [["ok", "KITTY_WORKS", "kitty allows remote control on its socket"]];
    }
    const code = access.state === "untrusted" ? "KITTY_UNTRUSTED" : "KITTY_REFUSES";
    return [["warning", code, `this kitty is not typed into: ${access.reason}`, KITTY_FIX]];
  },
};
