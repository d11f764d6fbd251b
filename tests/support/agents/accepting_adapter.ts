/** An agent that takes everything, for tests of what agents read. */

import type {
  Adapter,
  Addressee,
  Parcel,
  Receipt,
} from "../../../daemon/features/agents/adapter.ts";

/** An adapter that keeps what an agent would read. */
export function reader() {
  const framed: string[] = [];
  const rung = {
    name: "native" as const,
    check: () => Promise.resolve({ ready: true as const }),
    deliver: (_: Addressee, parcel: Parcel): Promise<Receipt> => {
      framed.push(parcel.framed);
      return Promise.resolve({ state: "accepted" });
    },
  };
  const adapter: Adapter = {
    backend: "generic",
    rungs: () => [rung],
    transport: () => "native",
    sight: () => Promise.resolve(undefined),
  };
  return { adapter, framed };
}
