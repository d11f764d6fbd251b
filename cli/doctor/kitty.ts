/** The doctor's check of the surrounding kitty: may mesh read its windows and type? */

import { accessTo } from "../../daemon/host/kitty/remote_control.ts";
import { kindOf, kittyAddressOf, paneOf } from "../../daemon/host/terminals/addresses.ts";
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
    const access = await accessTo(address, clock);
    if (access.state === "allowed") {
      return [["ok", "KITTY_WORKS", "kitty allows remote control on its socket"]];
    }
    const code = access.state === "untrusted" ? "KITTY_UNTRUSTED" : "KITTY_REFUSES";
    return [["warning", code, `this kitty is not typed into: ${access.reason}`, ALLOW]];
  },
};
