/** The parts of lower features that reviews use, and a review that a request names. */

import type { Asks } from "../asks/asks.ts";
import type { Changes, FolderList } from "../changes/changes.ts";
import type { JointChecks } from "../joint_checks/joint_checks.ts";
import type { Origins } from "../origins/origins.ts";
import type { Directory } from "../peers/directory.ts";
import type { FolderScope } from "../spawn/folders.ts";
import type { UsageReports } from "../usage/report.ts";
import type { WorkFolder } from "./folders.ts";
import type { StoredReview } from "./store.ts";

export interface ReviewsDeps {
  readonly asks: Asks;
  readonly changes: Changes;
  readonly directory: Directory;
  /** The folders of which agents may read their own changes. */
  readonly folders: FolderScope;
  readonly jointChecks: Pick<JointChecks, "failingWith">;
  readonly machine: string;
  readonly origins: Pick<Origins, "memberChain">;
  readonly secrets: readonly string[];
  readonly shutdownSignal: AbortSignal;
  readonly usageReports: UsageReports;
}

/** A review that a request names, with its folder as it is now. */
export interface FoundReview {
  readonly stored: StoredReview;
  readonly at: WorkFolder;
  readonly list: FolderList;
}
