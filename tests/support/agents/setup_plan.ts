/** A plan of setup for tests of an agent's files, on a machine where no mesh is installed. */

import type { SetupPlan } from "../../../daemon/features/agents/install.ts";
import { MeshPrograms } from "../../../daemon/features/agents/settings_files/mesh_programs.ts";

interface PlanOptions {
  readonly replace?: boolean;
  readonly hook_script?: string;
}

export function planOf(
  mesh: readonly string[],
  { replace = false, hook_script }: PlanOptions = {},
): SetupPlan {
  const programs = new MeshPrograms({ HOME: "/nonexistent", PATH: "" }, mesh);
  return { mesh, programs, replace, hook_script };
}
