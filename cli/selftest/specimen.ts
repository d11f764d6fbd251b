/** One kind of agent as selftest plays it: its home, its keys, its screens. One entry each. */

import type { Backend } from "../../daemon/peers/contract.ts";
import type { Scripted } from "./model/scripted.ts";

/** Where an agent is at home while it is tested. */
export interface Premises {
  readonly home: string;
  /** The folder that it works in. */
  readonly folder: string;
  /** The release that was found. */
  readonly version: string;
}

export interface Specimen {
  /** The name by which the mesh knows it. */
  readonly agent: Backend;
  readonly title: string;
  readonly program: string;
  /** The model that answers it; told to use a tool that needs leave, it makes this file. */
  model(forbidden: string): Scripted;
  /** Writes what one has who has been through the first start; what the environment adds to it. */
  furnish(premises: Premises, model: Scripted): Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** Takes up the folder's last session again. */
  readonly resume: readonly string[];
  /** The composer is there, and empty. */
  isReady(screen: string): boolean;
  /** What is pressed at a screen of the start, as its user would. */
  atStart?(screen: string): string | undefined;
  /** True where no hook of ours runs before the first prompt. */
  readonly silent_until_prompt?: true;
  readonly dialog: {
    /** What is typed, so that the model calls a tool that needs leave; ends with the mark. */
    prompt(forbidden: string, mark: string): string;
    isOpen(screen: string): boolean;
    /** The keys that refuse. */
    readonly refusal: readonly string[];
  };
  /** Ends what outlives its terminals, when a session is ended. */
  end?(
    premises: Premises,
    run: (program: string, ...args: string[]) => Promise<void>,
  ): Promise<void>;
  /** What it keeps outside of its home, and would leave behind. */
  litter?(premises: Premises): readonly string[];
  /** Rungs that are not tried here, and why. */
  readonly untested: Readonly<Record<string, string>>;
}
