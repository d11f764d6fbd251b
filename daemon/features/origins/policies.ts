/** Checks acts of chains against the rules of the setting `policy`. All checks are made here. */

import type * as z from "zod";
import type { Context } from "../../data/context.ts";
import type { Chain, OriginKind } from "protocol/origins/record.ts";
import { isOutside, originText } from "protocol/derived/origins.ts";
import { type DeniedAct, type PolicyRule, readAct, type Verb } from "protocol/origins/policy.ts";
import type { EVENTS } from "protocol/events.ts";
import { Problem } from "protocol/problems.ts";
import * as peers from "../peers/store.ts";

/** An act that a rule may deny. */
export interface CheckedAct {
  readonly verb: Verb;
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to?:
    | { readonly peer_id: string; readonly name: string; readonly role: string }
    | undefined;
}

interface PoliciesDeps {
  readonly rules: readonly PolicyRule[];
  /** Called for each act that a rule refuses. */
  refused(): void;
}

interface Rule {
  readonly name: string;
  readonly origin: OriginKind;
  readonly texts: readonly string[];
  readonly acts: readonly DeniedAct[];
}

export class Policies {
  readonly #ctx: Context;
  readonly #deps: PoliciesDeps;
  readonly #rules: readonly Rule[];

  constructor(ctx: Context, deps: PoliciesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#rules = deps.rules.map(({ origin, deny }, at) => ({
      name: `policy.${at}`,
      origin,
      texts: deny,
      acts: deny.flatMap((text) => readAct(text) ?? []),
    }));
  }

  get isAny(): boolean {
    return this.#rules.length > 0;
  }

  /** The rules in their order, as people wrote them. */
  list() {
    return this.#rules.map(({ name, origin, texts }) => ({
      rule: name,
      origin,
      deny: [...texts],
    }));
  }

  /** Throws and logs `policy_denied` if a rule denies the act to the chain. */
  mustAllow(chain: Chain, { verb, from, to }: CheckedAct): void {
    if (!this.isAny) return;
    const tags = to ? peers.get(this.#ctx.db, to.peer_id)?.tags ?? [] : [];
    const recipients = to
      ? [
        to.name,
        to.peer_id,
        ...tags.map((tag) => `@${tag}`),
        ...to.role === "human" ? ["human"] : [],
      ]
      : [];
    const rule = this.denying(kindsOf(chain), { verb, recipients });
    if (rule === undefined) return;
    this.#deps.refused();
    this.#report({
      rule,
      verb,
      origin: chain.origin,
      root: chain.root,
      from_peer_id: from.peer_id,
      from: from.name,
    });
    throw new Problem("policy_denied", {
      rule,
      verb,
      to: to ? ` to ${to.name}` : "",
      origin: originText(chain),
      root: chain.root,
    });
  }

  /** Logs a refusal after the refused transaction, which the refusal rolls back. */
  #report(refusal: z.input<typeof EVENTS["policy_denied"]>): void {
    const { background, db, events } = this.#ctx;
    const append = () => db.transact(() => events.append("policy_denied", refusal));
    background.run("A refusal was not logged", Promise.resolve().then(append));
  }

  allows(chain: Chain, verb: Verb): boolean {
    return this.denying(kindsOf(chain), { verb, recipients: [] }) === undefined;
  }

  /** The first rule that denies an act to one of these origins. */
  denying(
    origins: readonly OriginKind[],
    { verb, recipients }: { readonly verb: Verb; readonly recipients: readonly string[] },
  ): string | undefined {
    return this.#rules.find(({ origin, acts }) =>
      origins.includes(origin) &&
      acts.some((act) =>
        act.verb === verb && (act.recipient === null || recipients.includes(act.recipient))
      )
    )?.name;
  }
}

/** The origin of a chain, and the one outside that another machine reports. */
function kindsOf(chain: Chain): OriginKind[] {
  const { origin, reported } = chain;
  return isOutside(chain) && reported !== null && reported !== "person"
    ? [origin, reported]
    : [origin];
}
