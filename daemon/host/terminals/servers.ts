/** All terminals of this machine, by the address of their server. */

import type { KittyServers } from "../kitty/kitty.ts";
import type { TmuxServers } from "../tmux/tmux.ts";
import { kindOf } from "./addresses.ts";
import type { TerminalServer, TerminalServers } from "./terminal_server.ts";

export class AllTerminals implements TerminalServers {
  readonly #tmux: TmuxServers;
  readonly #kitty: KittyServers;

  constructor(tmux: TmuxServers, kitty: KittyServers) {
    this.#tmux = tmux;
    this.#kitty = kitty;
  }

  at(address: string): TerminalServer {
    return kindOf(address) === "kitty" ? this.#kitty.at(address) : this.#tmux.at(address);
  }
}
