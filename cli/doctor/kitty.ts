/** The doctor's check of the kitty around it: whether mesh may look into its windows and type. */

import { callKitty } from "../../daemon/host/kitty/remote_control.ts";
import {
  kindOf,
  kittyAddressOf,
  paneOf,
  socketPathOf,
} from "../../daemon/host/terminals/addresses.ts";
import { checkTerminal } from "../../daemon/host/trusted_socket.ts";
import type { Check } from "./finding.ts";

const ALLOW = "in kitty.conf, set `allow_remote_control socket-only` and " +
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
      return [["note", "KITTY_CLOSED", detail, ALLOW]];
    }
    const checked = checkTerminal(address);
    if (checked.state === "refused") {
      const detail = `this kitty's socket cannot be trusted: ${checked.reason}`;
      return [["warning", "KITTY_UNTRUSTED", detail, ALLOW]];
    }
    const answer = await callKitty(socketPathOf(address), { cmd: "ls", payload: {} }, { clock });
    if (answer.ok) return [["ok", "KITTY_WORKS", "kitty allows remote control on its socket"]];
    return [["warning", "KITTY_REFUSES", `kitty cannot be used: ${answer.message}`, ALLOW]];
  },
};
