/**
 * Addresses of terminal servers, and the pane that an environment names. A tmux server's address is
 * the path of its socket; that of a kitty process is `kitty:` and the path of its socket.
 */

import type { Env } from "./paths.ts";

export type TerminalKind = "tmux" | "kitty";

const KITTY = "kitty:";

export function kindOf(address: string): TerminalKind {
  return address.startsWith(KITTY) ? "kitty" : "tmux";
}

/** The path of the socket at which the terminal server listens. */
export function socketPathOf(address: string): string {
  return kindOf(address) === "kitty" ? address.slice(KITTY.length) : address;
}

export interface PanePlace {
  readonly pane_id: string;
  /** The address of the terminal server. */
  readonly tmux_socket: string;
}

/**
 * The pane in which a process with this environment runs. A tmux inside of kitty, and a kitty that
 * was started in tmux, pass both terminals' variables on. The inner terminal set `TERM`.
 */
export function paneOf(env: Env): PanePlace | undefined {
  const tmux = placeOf(env["TMUX_PANE"], tmuxSocketOf(env));
  const kitty = placeOf(env["KITTY_WINDOW_ID"], kittyAddressOf(env));
  const isKittyInside = env["TERM"] === "xterm-kitty" && env["TERM_PROGRAM"] !== "tmux";
  return isKittyInside ? kitty ?? tmux : tmux ?? kitty;
}

/** The address of this environment's kitty, for one of its windows; undefined without one. */
export function addressFor(pane_id: string, env: Env): string | undefined {
  return pane_id.startsWith("%") ? undefined : kittyAddressOf(env);
}

function placeOf(pane_id: string | undefined, tmux_socket: string | undefined) {
  return pane_id && tmux_socket ? { pane_id, tmux_socket } : undefined;
}

/** `$TMUX` is "socket,server pid,session"; the socket path may contain commas. */
export function tmuxSocketOf(env: Env): string | undefined {
  return env["TMUX"]?.replace(/,[^,]*,[^,]*$/, "");
}

/**
 * The address of the kitty that this environment names. Only for a socket in the file system: any
 * user may take the name of an abstract socket (`unix:@name`), so such a socket proves nothing.
 */
export function kittyAddressOf(env: Env): string | undefined {
  const path = /^unix:(\/.+)$/.exec(env["KITTY_LISTEN_ON"] ?? "")?.[1];
  return path && `${KITTY}${path}`;
}
