/** The route that explains the rules on chains. */

import { type Route, route } from "kit/http/route.ts";
import { nearest } from "kit/core/near_words.ts";
import { explainPolicy, readAct, VERBS } from "protocol/origins/policy.ts";
import { Problem } from "protocol/problems.ts";
import type { Policies } from "./policies.ts";

export function policyRoutes({ policies }: { readonly policies: Policies }): Route[] {
  return [
    route(explainPolicy, ({ query: { origin, act } }) => {
      const rules = policies.list();
      if (origin === undefined || act === undefined) return { rules, verdict: null };
      const read = readAct(act);
      if (!read) {
        const [word = act] = act.split(":");
        const meant = nearest(word.trim(), VERBS);
        throw new Problem("unknown_act", { act, allowed: VERBS.join(", "), meant: meant ?? "ask" });
      }
      const { verb, recipient } = read;
      const recipients = recipient === null ? [] : [recipient];
      const rule = policies.denying([origin], { verb, recipients });
      return { rules, verdict: { allowed: rule === undefined, rule: rule ?? null } };
    }),
  ];
}
