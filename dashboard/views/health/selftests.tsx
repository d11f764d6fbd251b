/** The last results of `mesh selftest` for each transport of each agent. */

import { Age, ResourceView, State } from "../../components/basics.tsx";
import { Copy } from "../../components/copy.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Selftest } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";

export function Selftests() {
  const resource = useResource("selftests", ["health"], () => call(at.listSelftests, {}));
  return (
    <section class="card">
      <h2>Self-test of the agents</h2>
      <ResourceView resource={resource}>
        {({ tested }) =>
          tested.length === 0
            ? <p>No agent was tested on this machine yet.</p>
            : <Results tested={tested} />}
      </ResourceView>
      <p class="hint">
        Test all agents: <code>mesh selftest</code> <Copy text="mesh selftest" />
      </p>
    </section>
  );
}

function Results({ tested }: { tested: readonly Selftest[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Results of the self-test">
      <table>
        <thead>
          <tr>
            {["Agent", "Version", "Transport", "Result", "Tested"].map((title) => (
              <th key={title} scope="col">{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tested.map(({ agent, version, transport, degraded, why, at }) => (
            <tr key={`${agent} ${transport}`}>
              <th scope="row">{agent}</th>
              <td>
                <bdi>{visible(version)}</bdi>
              </td>
              <td>{transport}</td>
              <td>
                <State of={degraded ? "failed" : "passed"} tone={degraded ? "bad" : "good"} />
                {why && (
                  <span class="reason">
                    {" "}
                    <bdi>{visible(why)}</bdi>
                  </span>
                )}
              </td>
              <td>
                <Age at={at} suffix=" ago" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
