/** Views that people open less often: one file, which is loaded with the first of them. */

export { Health } from "./health.tsx";
export { Holdings } from "./holdings/holdings.tsx";
export { Jobs } from "./jobs.tsx";
export { MachineGroups } from "./machines/machine_groups.tsx";
export { MeshMap } from "./map/mesh_map.tsx";
export { Relay } from "./relay/relay.tsx";
export { Review } from "./review/review.tsx";
export { Schedules } from "./schedules.tsx";
export { Settings } from "./settings.tsx";
export { Usage } from "./usage.tsx";
export { SpawnDialog } from "./spawn/dialog.tsx";
