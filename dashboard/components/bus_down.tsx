/** The notice that the bus between the machines is down, so that messages to them wait. */

import type { Network } from "../state/records.ts";
import { Age } from "./basics.tsx";
import { visible } from "./text/visible.tsx";

export function BusDown({ bus: { since, reason } }: { bus: Network["bus"] }) {
  return (
    <p class="reason bus-down">
      The bus has been down{since && (
        <>
          {" "}for <Age at={since} />
        </>
      )}
      {reason && <>: {visible(reason.replace(/\.$/, ""))}</>}. Messages to other machines wait.
    </p>
  );
}
