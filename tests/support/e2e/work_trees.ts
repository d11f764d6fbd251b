/** The repository of a lab, with two work trees. */

import { join } from "node:path";
import { run } from "./programs.ts";

/** Makes a repository with these files in the project `api`, and its work tree in `web`. */
export function makeWorkTrees(dir: string, files: Readonly<Record<string, string>>): void {
  const api = join(dir, "api");
  const git = (...args: string[]) => run("git", ["-C", api, ...args]);
  git("init", "-q", "-b", "main");
  git("config", "user.name", "sam");
  git("config", "user.email", "sam@example.com");
  for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(join(api, name), text);
  git("add", "-A");
  git("commit", "-q", "-m", "The first files");
  git("worktree", "add", "-q", "-b", "web", join(dir, "web"));
  git("checkout", "-q", "-b", "api");
}
