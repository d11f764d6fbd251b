/** Panes of tmux without a peer, and adopting the agent in one of them. */

import { useState } from "preact/hooks";
import { Empty, Failed } from "../../components/basics.tsx";
import { SelectField } from "../../components/fields.tsx";
import { ActionWindow, useAct } from "../../components/window.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Backend, Orphan } from "../../state/records.ts";
import { ANY_PROGRAM, PANE_BACKENDS } from "./cannot_start.tsx";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";
import { NameAndCircle, type Names } from "./naming.tsx";

/** No event announces a new pane: the list is loaded when a peer changes, and on request. */
export function Orphans() {
  const resource = useResource("orphans", ["peers"], () => call(at.listOrphans, {}));
  const [adopting, setAdopting] = useState<Orphan>();
  const found = resource.value.value?.panes;
  const error = resource.error.value;
  if (found === undefined && error === undefined) return null;
  const count = found?.length ?? 0;
  const likely = found?.filter(({ backend_hint }) => backend_hint !== null).length ?? 0;
  return (
    <details class="orphans">
      <summary>
        Tmux panes without a peer <span class="count hint">{count}</span>
        {likely > 0 && <span class="hint">{likely} may run an agent</span>}
      </summary>
      {error !== undefined && <Failed error={error} retry={resource.refresh} />}
      {found && count === 0 && (
        <Empty title="No such pane">Each pane that runs a program has its peer.</Empty>
      )}
      <ul>
        {found?.toSorted(byLikelihood).map((pane) => (
          <li
            key={`${pane.tmux_socket} ${pane.pane_id}`}
            class="orphan row list-row"
            data-row
            tabIndex={-1}
          >
            <strong>
              <bdi>{visible(pane.command || "a program")}</bdi>
            </strong>
            <span class="hint">
              <bdi>
                {[pane.cwd, `session ${pane.session}`, pane.pane_id].filter(Boolean).join(" · ")}
              </bdi>
            </span>
            {pane.backend_hint && <span class="kind hint">looks like {pane.backend_hint}</span>}
            <button
              type="button"
              onClick={() => setAdopting(pane)}
            >
              Adopt…
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="quiet" onClick={resource.refresh}>Look again</button>
      {adopting && <Adopt pane={adopting} close={() => setAdopting(undefined)} />}
    </details>
  );
}

function byLikelihood(a: Orphan, b: Orphan): number {
  return Number(a.backend_hint === null) - Number(b.backend_hint === null) ||
    a.cwd.localeCompare(b.cwd) || a.pane_id.localeCompare(b.pane_id);
}

function Adopt({ pane, close }: { pane: Orphan; close: () => void }) {
  const [backend, setBackend] = useState<Backend>(pane.backend_hint ?? ANY_PROGRAM);
  const [names, setNames] = useState<Names>({ name: "", circle: "" });
  const { pane_id, tmux_socket } = pane;
  const { act, result, ...state } = useAct(() => {
    const { name, circle } = names;
    const given = { ...(name !== "" && { name }), ...(circle !== "" && { circle }) };
    const body = { backend, tmux_socket, ...given };
    return call(at.linkPane, { params: { pane_id }, query: {}, body });
  }, () => refreshTopics(["peers"]));
  return (
    <ActionWindow
      title={`Adopt pane ${pane_id}`}
      label="Adopt it"
      close={close}
      done={result?.linked === true}
      act={act}
      {...state}
    >
      {result?.linked ? <Adopted id={result.peer_id} name={result.display_name} /> : (
        <>
          <p>
            <bdi>{visible(pane.command)}</bdi> in <bdi>{visible(pane.cwd)}</bdi>{" "}
            becomes a peer. Messages to it are typed into its pane, unless it has a better way.
          </p>
          <SelectField
            label="Agent"
            value={backend}
            options={PANE_BACKENDS.map((name) => [name, name] as const)}
            choose={setBackend}
          />
          <NameAndCircle
            names={names}
            change={(part) => setNames({ ...names, ...part })}
            circle_hint="that of its session"
          />
          {result && (
            <p class="reason" role="alert">
              It was not adopted: {result.reason.replaceAll("_", " ")}. {result.hint}
            </p>
          )}
        </>
      )}
    </ActionWindow>
  );
}

function Adopted({ id, name }: { id: string; name: string }) {
  return (
    <p role="status">
      It is now a peer:{" "}
      <a href={link("peers", id)}>
        <bdi>{visible(name)}</bdi>
      </a>
    </p>
  );
}
