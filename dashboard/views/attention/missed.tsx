/** The end of a question that the human did not answer. */

import { State } from "../../components/basics.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { useResource } from "../../state/resource.ts";

export function MissedQuestion({ id }: { id: string }) {
  const { value } =
    useResource(`missed ${id}`, [], () => call(at.getAsk, { params: { id } })).value;
  return (
    <p class="where">
      This question is closed{value?.outcome && (
        <>
          : <State of={value.outcome} />
        </>
      )}
    </p>
  );
}
