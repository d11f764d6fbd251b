/** Builds the lifecycle of registered agents: linking, certificates, termination, doctor. */

import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { Pruning } from "../../features/lifecycle/pruning.ts";
import { PaneProof } from "../../features/lifecycle/panes/pane_proof.ts";
import { PaneScreens } from "../../features/lifecycle/panes/pane_screens.ts";
import { PaneTyping } from "../../features/lifecycle/panes/pane_typing.ts";
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
  const paneProof = new PaneProof(ctx, deps);
  return {
    linking: new Linking(ctx, deps),
    identities: new Identities(ctx, deps),
    termination: new Termination(ctx, deps),
    doctor: new Doctor(ctx, deps),
    paneScreens: new PaneScreens({ paneObserver, paneProof }),
    paneTyping: new PaneTyping({
      ...deps,
      paneProof,
      is_allowed: config["panes.allow_typing"],
    }),
    pruning: new Pruning(ctx, { ...deps, ports: ports.lifecycle }),
  };
}
