/** The end of a question that a person was answering, and the choices for the written text. */

import { useEffect } from "preact/hooks";
import { Copy } from "../../components/copy.tsx";
import { Age, Failed } from "../../components/basics.tsx";
import { useSubmit } from "../../components/act/submit.ts";
import { visible } from "../../components/text/visible.tsx";
import { announce } from "../../state/announce.ts";
import { askAnew, finish, isOwn, isUnknown } from "../../state/answering.ts";
import { call } from "../../state/calls.ts";
import { endingOf } from "protocol/derived/endings.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Ask } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";

/** `late`: the ask as it was when the answer of this page came too late. */
export function EndedQuestion(
  { ask, text, late }: { ask: Ask; text: string; late: Ask | undefined },
) {
  const { correlation_id, from_peer_name } = ask;
  const load = () => call(at.getAsk, { params: { id: correlation_id } });
  const resource = useResource(`ended ${correlation_id}`, ["asks"], load);
  const { busy, error, submit } = useSubmit();
  const now = late ?? resource.value.value;
  const own = now !== undefined && isOwn(now);
  useEffect(() => {
    if (own) finish(correlation_id);
  }, [own]);
  const again = () =>
    submit(async (headers) => {
      await askAnew(ask, text, headers);
      announce(`Sent to ${from_peer_name} as a new ask`);
    });
  return (
    <>
      <p class="ending">
        {now
          ? (
            <>
              <bdi>{visible(endingOf(now))}</bdi>{" "}
              {now.closed_at && <Age at={now.closed_at} suffix=" ago" />}
            </>
          )
          : isUnknown(resource.error.value)
          ? "The daemon does not know this question any more."
          : "The question is closed."}
        {late ? " Your answer was not used." : text.trim() && " Your text was not sent."}
      </p>
      <div class="answer-tools">
        {text.trim() && (
          <>
            <button type="button" aria-disabled={busy} onClick={again}>
              Send it as a new ask
            </button>
            <Copy text={text} label="Copy your text" />
          </>
        )}
        <button type="button" class="quiet" onClick={() => finish(correlation_id)}>
          {text.trim() ? "Discard" : "Close"}
        </button>
      </div>
      {error !== undefined && <Failed error={error} />}
    </>
  );
}
