/** Any program that reads lines in a tmux pane. Only the pane of the program is known. */

import type { AgentDefinition } from "../definition.ts";

export const generic: AgentDefinition = {
  id: "generic",
  title: "A program in a pane",
  programs: [],
  tested_version: null,
  transports: ["pane"],
  permission_modes: [],
  async open(host) {
    const { genericAdapter } = await import("./generic.ts");
    return { adapter: genericAdapter(host) };
  },
};
