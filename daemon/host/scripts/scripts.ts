/** Scripts of bash that send a request to the daemon: the parts that they have in common. */

import find_daemon from "./find_daemon.bash" with { type: "text" };
import functions from "./functions.bash" with { type: "text" };

/**
 * The script with its common parts in place of the lines that name them. Bash copies a function
 * for each call, so what runs once in every script is in none.
 */
export function completeScript(script: string): string {
  return script.replace("# @functions\n", () => functions)
    .replace("# @find_daemon\n", () => find_daemon);
}
