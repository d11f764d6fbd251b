/** The tokens that a peer's session used, and the size of its context. */

import { ResourceView } from "../../../components/basics.tsx";
import { visible } from "../../../components/text/visible.tsx";
import { call } from "../../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer, Usage } from "../../../state/records.ts";
import { only, useResource } from "../../../state/resource.ts";

export function SessionUsage({ peer: { peer_id } }: { peer: Peer }) {
  const load = () => call(at.getUsage, { params: { id: peer_id }, query: {} });
  const resource = only(useResource(`usage ${peer_id}`, ["turns"], load), [peer_id]);
  return (
    <ResourceView resource={resource}>
      {(found) => (
        <dl class="facts">
          <dt>Tokens</dt>
          <dd>{visible(tokensOf(found))}</dd>
          <dt>Context</dt>
          <dd>{contextOf(found.usage)}</dd>
        </dl>
      )}
    </ResourceView>
  );
}

function tokensOf({ usage, reason }: Usage): string {
  if (!usage) return `not recorded: ${reason ?? ""}`;
  const { input_tokens, cached_tokens, output_tokens } = usage;
  return `${count(input_tokens)} in, ${count(cached_tokens)} of it cached, ${
    count(output_tokens)
  } out`;
}

function contextOf(usage: Usage["usage"]): string {
  const { context_tokens = null, context_limit = null } = usage ?? {};
  if (context_tokens === null || context_limit === null) return count(context_tokens);
  const percent = Math.round(100 * context_tokens / Math.max(1, context_limit));
  return `${count(context_tokens)} of ${count(context_limit)} (${percent} %)`;
}

function count(tokens: number | null): string {
  return tokens === null ? "not recorded" : tokens.toLocaleString("en-US");
}
