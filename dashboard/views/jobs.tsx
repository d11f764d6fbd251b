/** Jobs: a board by state, recurring jobs, one job in full, and a form for a new job. */

import { Empty, ResourceView } from "../components/basics.tsx";
import { Icon } from "../components/icons/icon.tsx";
import { call, isRefusal } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { useResource } from "../state/resource.ts";
import { go, link, route } from "../state/router.ts";
import { peers } from "../state/store.ts";
import { Board } from "./jobs/board.tsx";
import { CreateJob } from "./jobs/create.tsx";
import { Detail } from "./jobs/detail.tsx";

const LIMIT = "300";
/** The id in the address of the form for a new job. */
const NEW = "new";

export function Jobs() {
  const { id } = route.value;
  if (id === NEW) return <NewJob />;
  return id ? <OneJob key={id} id={id} /> : <AllJobs />;
}

function AllJobs() {
  const load = () => call(at.listJobs, { query: { view: "summary", limit: LIMIT } });
  const resource = useResource("jobs", ["jobs"], load, { kept: true });
  return (
    <>
      <div class="toolbar">
        <a class="button primary" href={link("jobs", NEW)}>
          <Icon name="start" />New job
        </a>
      </div>
      <ResourceView resource={resource}>{(lists) => <Board lists={lists} />}</ResourceView>
    </>
  );
}

function NewJob() {
  return (
    <div class="column stack loose">
      <Back />
      <ResourceView resource={peers}>
        {() => <CreateJob created={(id) => go(link("jobs", id))} />}
      </ResourceView>
    </div>
  );
}

function OneJob({ id }: { id: string }) {
  const resource = useResource(
    `job ${id}`,
    ["jobs"],
    () => call(at.getJob, { params: { id } }),
    { kept: true },
  );
  const unknown = isRefusal(resource.error.value, "unknown_job");
  return (
    <div class="column stack loose">
      <Back />
      {unknown
        ? <Empty title="This job is not known">It may have been removed.</Empty>
        : (
          <ResourceView resource={resource}>
            {(job) => <Detail job={job} refresh={resource.refresh} />}
          </ResourceView>
        )}
    </div>
  );
}

function Back() {
  return (
    <p class="up">
      <a href={link("jobs")}>
        ← All jobs
      </a>
    </p>
  );
}
