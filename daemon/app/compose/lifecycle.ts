/** Builds the lifecycle of registered agents: linking, certificates, termination, doctor. */

import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { Pruning } from "../../features/lifecycle/pruning.ts";
import { Panes } from "../../features/lifecycle/panes.ts";
import { Termination } from "../../features/lifecycle/termination.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";

/** The lifecycle of registered agents: linking, certificates, termination and doctor. */
export function openLifecycle(
  { config, ctx, platform, ports, certificates }: Foundation,
  lower: AskFeatures,
) {
  const { machine, paneObserver, pid, processes } = platform;
  const circle_boundary = config["daemon.circle_boundary"];
  const deps = {
    ...lower,
    certificates,
    circle_boundary,
    machine,
    paneObserver,
    pid,
    processes,
  };
  return {
    linking: new Linking(ctx, deps),
    identities: new Identities(ctx, deps),
    termination: new Termination(ctx, deps),
    doctor: new Doctor(ctx, deps),
    panes: new Panes(ctx, { ...deps, typing_allowed: config["panes.allow_typing"] }),
    pruning: new Pruning(ctx, { ...deps, ports: ports.lifecycle }),
  };
}
