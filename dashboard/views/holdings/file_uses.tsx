/** The agents that read and wrote a file, in any work tree of its repository. */

import * as at from "protocol/generated/endpoints.ts";
import { Age, Empty, ResourceView, State } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { FileAnswer } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";

export function FileUses({ path }: { path: string }) {
  const load = () => call(at.whoUsesFile, { query: { path } });
  const resource = useResource(`uses of ${path}`, ["files", "turns"], load);
  return (
    <ResourceView resource={resource}>{(answer) => <FileUseList answer={answer} />}</ResourceView>
  );
}

export function FileUseList({ answer: { file, root, uses } }: { answer: FileAnswer }) {
  if (uses.length === 0) {
    return (
      <Empty title="No agent is known to have read or written it">
        <bdi>{visible(file)}</bdi>: what a shell command wrote is not recorded.
      </Empty>
    );
  }
  const writers = new Set(uses.flatMap(({ peer_id, wrote }) => wrote ? [peer_id] : []));
  return (
    <div class={`rail stack tight ${writers.size > 1 ? "warn" : ""}`}>
      <p>
        <bdi>{visible(file)}</bdi>
        {writers.size > 1 && <span class="reason">{` ${writers.size} agents wrote it`}</span>}
      </p>
      <ul class="list">
        {uses.map((use) => (
          <li key={`${use.peer_id} ${use.root} ${use.wrote}`} class="row list-row">
            <PeerLink id={use.peer_id} name={use.name} />
            <State of={use.wrote ? "wrote" : "read"} tone={use.wrote ? "good" : "calm"} />
            <span class="hint">
              {use.times > 1 && `${use.times} times, last `}
              <Age at={use.last_at} suffix=" ago" />
            </span>
            {use.root !== root && (
              <bdi class="hint">{visible(`in ${use.root ?? "no repository"}`)}</bdi>
            )}
            {use.task && <bdi class="hint">{visible(use.task)}</bdi>}
          </li>
        ))}
      </ul>
    </div>
  );
}
