/** The changes in the folder of a job; read when a person opens it, because that runs git. */

import { useFold } from "../../components/act/folds.ts";
import { ResourceView } from "../../components/basics.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { TracedChanges } from "../holdings/traced_changes.tsx";
import type { OneJob } from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";

export function JobChanges({ job: { job_id } }: { job: OneJob }) {
  const [isOpen, turn] = useFold(`job changes/${job_id}`, false);
  return (
    <section>
      <h3>Changes</h3>
      <button type="button" aria-expanded={isOpen} onClick={turn}>
        {isOpen ? "Hide what changed in its folder" : "Show what changed in its folder"}
      </button>
      {isOpen && <Loaded job_id={job_id} />}
    </section>
  );
}

function Loaded({ job_id }: { job_id: string }) {
  const params = { id: job_id };
  const load = (signal: AbortSignal) => call(at.readJobChanges, { params, query: {}, signal });
  const resource = only(useResource(`job changes ${job_id}`, ["jobs"], load), [job_id]);
  const loadFile = async (file: string) =>
    (await call(at.readJobChanges, { params, query: { file } })).files[0];
  return (
    <ResourceView resource={resource}>
      {(changes) => (
        <TracedChanges
          changes={changes}
          id={job_id}
          loadFile={loadFile}
          refresh={resource.refresh}
          machine={undefined}
        />
      )}
    </ResourceView>
  );
}
