/** Files and leases: who uses a file or a port, what is leased, and which agents write one file. */

import { Empty, ResourceView } from "../../components/basics.tsx";
import { SearchField } from "../../components/act/search_field.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { useResource } from "../../state/resource.ts";
import { filter, route } from "../../state/router.ts";
import { FileUses } from "./file_uses.tsx";
import { LeaseList } from "./lease_list.tsx";
import { Overlaps } from "./overlaps.tsx";
import { PortUses } from "./port_uses.tsx";

export function Holdings() {
  const asked = route.value.query.get("of")?.trim() ?? "";
  return (
    <div class="column stack loose">
      <SearchField
        label="File or port"
        placeholder="/path/of/a/file, or a port"
        value={asked}
        search={(of) => filter({ of })}
      />
      <Users key={asked} of={asked} />
      <section class="stack tight">
        <h2>Leases</h2>
        <Leases />
      </section>
      <Overlaps />
    </div>
  );
}

function Users({ of }: { of: string }) {
  if (of === "") return null;
  if (/^\d{1,5}$/.test(of)) return <PortUses port={of} />;
  if (of.startsWith("/")) return <FileUses path={of} />;
  return <p class="hint">Give the absolute path of a file, or the number of a port.</p>;
}

function Leases() {
  const resource = useResource("leases", ["leases"], () => call(at.listLeases, {}));
  return (
    <ResourceView resource={resource}>
      {({ leases }) =>
        leases.length > 0
          ? <LeaseList leases={leases} />
          : (
            <Empty title="Nothing is leased" command="mesh lease port web">
              A lease keeps a port, or something else such as db, for one process until it ends.
            </Empty>
          )}
    </ResourceView>
  );
}
