/** The route by which a person types into a peer's pane, as data. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { onePeer, PANE_FAILS } from "protocol/peers/record.ts";
import { Key, TYPED_CHARS_MAX, TYPED_KEYS_MAX } from "protocol/agents/contract.ts";

/**
 * Reasons that hold keys back unless the person accepts them: a draft, an open dialog, a screen
 * without a known composer, a program that the agent has started, the prompt of a shell.
 */
export const Acceptable = z.enum([
  "draft_present",
  "dialog_open",
  "screen_unknown",
  "not_foreground",
  "shell_prompt",
]);
export type Acceptable = z.output<typeof Acceptable>;

export const TypingRequest = z.object({
  /** Typed in this order, all or none. An empty list only checks whether keys would be typed. */
  keys: z.array(Key).max(TYPED_KEYS_MAX).refine(
    (keys) => charsOf(keys) <= TYPED_CHARS_MAX,
    `at most ${TYPED_CHARS_MAX} characters`,
  ),
  accept: z.array(Acceptable).default([]),
});
export type TypingRequest = z.output<typeof TypingRequest>;

function charsOf(keys: readonly Key[]): number {
  return keys.reduce((sum, key) => sum + Object.values(key).join("").length, 0);
}

export const typeIntoPane = contract({
  id: "peers.type",
  method: "POST",
  path: "/peers/:id/keys",
  summary: "Type keys into a peer's pane; only for a person, and only with panes.allow_typing",
  ...onePeer,
  tunnel: "never",
  body: TypingRequest,
  returns: z.object({
    peer_id: z.string(),
    pane_id: z.string(),
    /** Number of keys typed. */
    keys: z.number().int(),
    /** Reasons that would have held the keys back if the person had not accepted them. */
    overruled: z.array(z.string()),
  }),
  fails: ["human_not_proven", "typing_off", ...PANE_FAILS, "not_typed", "typing_unclear"],
});
export type TypedKeys = z.output<typeof typeIntoPane.returns>;
