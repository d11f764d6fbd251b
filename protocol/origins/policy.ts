/** The rules on what chains of each origin may cause, and the route that explains them. */

import * as z from "zod";
import { nearest } from "kit/core/near_words.ts";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { OriginKind, ORIGINS } from "protocol/origins/record.ts";

/**
 * The acts that a rule may deny. The contract of a route names its act as `verb`; messages are
 * checked where their recipient is known.
 */
export const VERBS = [
  "spawn",
  "restart",
  "handoffs",
  "jobs",
  "schedules",
  "subscriptions",
  "wake",
  "ask",
  "notify",
  "broadcast",
  "attachments",
] as const;
export const Verb = z.enum(VERBS);
export type Verb = z.output<typeof Verb>;

/** The verbs whose rules may name a recipient: `ask: human`. */
const WITH_RECIPIENT: readonly string[] = ["ask", "notify"];
/** Origins that a rule may name. A rule cannot limit what a person does. */
const LIMITED = ORIGINS.filter((origin) => origin !== "person");

/** An act of a rule, such as `spawn`, `ask: human`, `ask: @tests` or `ask: api`. */
export interface DeniedAct {
  readonly verb: Verb;
  /** The recipient: a peer's name, a tag with its `@`, or `human`; null for any. */
  readonly recipient: string | null;
}

export const POLICY_FORM = "a list of {origin, deny}; origin: " + LIMITED.join(", ") +
  "; deny: a list of " +
  VERBS.join(", ") + ", and ask or notify with a recipient: ask: human, ask: @tag, ask: NAME";

const RECIPIENT = /^(?:@?[A-Za-z0-9._-]{1,64})$/;

/** YAML reads `ask: human` in a list as a map with one key. */
const Denied = z.unknown().transform((raw, context): string => {
  const isPair = typeof raw === "object" && raw !== null && !Array.isArray(raw);
  const pairs = isPair ? Object.entries(raw) : [];
  const text = pairs.length === 1 ? `${pairs[0]?.[0]}: ${String(pairs[0]?.[1])}` : raw;
  const mistake = typeof text === "string" ? mistakeIn(text) : "not a text";
  if (mistake === undefined) return String(text);
  context.addIssue({ code: "custom", message: mistake });
  return z.NEVER;
});

export const PolicyRule = z.strictObject({
  origin: z.enum(LIMITED),
  deny: z.array(Denied).min(1).max(50),
});
export type PolicyRule = z.output<typeof PolicyRule>;
export const Policy = z.array(PolicyRule).max(100);

/** The parts of a denied act. */
export function readAct(text: string): DeniedAct | undefined {
  const [verb = "", recipient] = text.split(":").map((part) => part.trim());
  const known = Verb.safeParse(verb).data;
  return known && { verb: known, recipient: recipient ?? null };
}

function mistakeIn(text: string): string | undefined {
  const act = readAct(text);
  const [word = ""] = text.split(":");
  if (!act) return `unknown act "${text}"${didYouMean(word.trim(), VERBS)}`;
  if (act.recipient === null) return undefined;
  if (!WITH_RECIPIENT.includes(act.verb)) return `${act.verb} takes no recipient`;
  return RECIPIENT.test(act.recipient) ? undefined : `not a recipient: "${act.recipient}"`;
}

/** The mistakes in the text of a policy, with the words that were meant. */
export function policyMistakes(raw: unknown): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.flatMap((rule: unknown, at) => {
    if (typeof rule !== "object" || rule === null) return [];
    const keys = Object.keys(rule).filter((key) => key !== "origin" && key !== "deny")
      .map((key) => `unknown key "${key}"${didYouMean(key, ["origin", "deny"])}`);
    const origin: unknown = Reflect.get(rule, "origin");
    const isUnknown = typeof origin === "string" && !LIMITED.some((known) => known === origin);
    const origins = isUnknown ? [`unknown origin "${origin}"${didYouMean(origin, LIMITED)}`] : [];
    const parsed = PolicyRule.shape.deny.safeParse(Reflect.get(rule, "deny"));
    const acts = parsed.error?.issues.map(({ message }) => message) ?? [];
    return [...keys, ...origins, ...acts].map((text) => `policy.${at}: ${text}`);
  });
}

function didYouMean(word: string, words: readonly string[]): string {
  const meant = nearest(word, words);
  return meant === undefined ? "" : `. Did you mean ${meant}?`;
}

export const explainPolicy = contract({
  id: "policy.explain",
  method: "GET",
  path: "/policy",
  summary: "The rules of `policy`, and what they would do with an act of a chain",
  access: "caller",
  tunnel: "open",
  query: z.object({
    origin: OriginKind.optional().describe("The origin of the chain, with `act`"),
    act: z.string().max(200).optional().describe(
      "An act, such as `spawn` or `ask: api`, with `origin`",
    ),
  }).refine(({ origin, act }) => (origin === undefined) === (act === undefined), {
    message: "Give both origin and act, or none of them",
  }),
  actor: NO_ACTOR,
  returns: z.object({
    rules: z.array(z.object({
      rule: z.string().describe("Its name in refusals, such as `policy.0`"),
      origin: OriginKind,
      deny: z.array(z.string()),
    })),
    verdict: z.object({ allowed: z.boolean(), rule: z.string().nullable() }).nullable().describe(
      "What the rules would do with the act; null without one. `rule` names the rule that denies it",
    ),
  }),
  fails: ["unknown_act"],
});
