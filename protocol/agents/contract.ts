/** Backends, turn states and transports: terms that every feature uses. */

import * as z from "zod";
import { KEY_NAMES } from "protocol/agents/keys.ts";

export const Backend = z.enum([
  "claude-code",
  "codex",
  "gemini",
  "opencode",
  "copilot",
  "generic",
  "acp",
  "mcp-http",
  "sdk",
]);
export type Backend = z.infer<typeof Backend>;

/** The backend of an unspecified agent: any program in a pane. */
export const ANY_PROGRAM = "generic" satisfies Backend;

/** The backend of an agent that `mesh run --acp` starts: it speaks the Agent Client Protocol. */
export const ACP_AGENT = "acp" satisfies Backend;

export const TurnState = z.enum(["idle", "working", "awaiting_input", "pending_first_turn"]);
export type TurnState = z.infer<typeof TurnState>;

/** The class of an error that ended a turn: a word, and never a text. */
export const ErrorClass = z.string().regex(
  /^[A-Za-z0-9_.-]{1,64}$/,
  "A class of errors, such as rate_limit: letters, digits, `_`, `.` and `-`",
);
/** The class that reports a turn which its user interrupted. */
export const INTERRUPTED = "interrupted";

export const Transport = z.enum(["native", "websocket", "pane", "hook", "bus", "none"]);
export type Transport = z.infer<typeof Transport>;
export const TransportName = z.enum(["native", "websocket", "pane", "hook", "bus"]);
export type TransportName = z.infer<typeof TransportName>;

/** Longer texts go into a pane as a message, or in parts. */
export const TYPED_CHARS_MAX = 8_192;
export const TYPED_KEYS_MAX = 64;

const NO_CONTROLS = /^(?:(?![\u2028\u2029])\P{Cc})*$/u;
const NO_CONTROLS_BUT_TAB_AND_NEWLINE = /^(?:\P{Cc}|[\t\n])*$/u;

export const NamedKey = z.enum(KEY_NAMES);
export type NamedKey = z.output<typeof NamedKey>;

/** A letter that is typed while Control is held, e.g. `Ctrl-c`. */
const ControlKey = z.templateLiteral(["Ctrl-", z.string().regex(/^[a-z]$/)]);
export type ControlKey = z.output<typeof ControlKey>;

const typedText = z.string().min(1).max(TYPED_CHARS_MAX);

export const Key = z.union([
  z.strictObject({
    /** As it is typed: keys that write nothing have names. */
    text: typedText.regex(NO_CONTROLS, "no control characters"),
  }),
  z.strictObject({ key: z.union([NamedKey, ControlKey]) }),
  z.strictObject({
    /** Text of a clipboard, which the program can tell from what is typed. */
    paste: typedText.regex(NO_CONTROLS_BUT_TAB_AND_NEWLINE, "no control characters but newlines"),
  }),
]);
export type Key = z.output<typeof Key>;
