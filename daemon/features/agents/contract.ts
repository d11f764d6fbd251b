/** Backends, turn states and transports: terms that every feature uses. */

import * as z from "zod";

export const Backend = z.enum([
  "claude-code",
  "codex",
  "gemini",
  "opencode",
  "copilot",
  "generic",
  "mcp-http",
  "sdk",
]);
export type Backend = z.infer<typeof Backend>;

/** The backend of an unspecified agent: any program in a pane. */
export const ANY_PROGRAM = "generic" satisfies Backend;

export const TurnState = z.enum(["idle", "working", "awaiting_input", "pending_first_turn"]);
export type TurnState = z.infer<typeof TurnState>;

export const Transport = z.enum(["native", "websocket", "pane", "hook", "none"]);
export type Transport = z.infer<typeof Transport>;
export const TransportName = z.enum(["native", "websocket", "pane", "hook"]);
export type TransportName = z.infer<typeof TransportName>;
