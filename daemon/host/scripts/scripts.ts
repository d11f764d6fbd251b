/** Scripts of bash that send a request to the daemon: the parts that they have in common. */

import find_daemon from "./find_daemon.bash" with { type: "text" };
import limit_time from "./limit_time.bash" with { type: "text" };
import read_all from "./read_all.bash" with { type: "text" };
import settle_shell from "./settle_shell.bash" with { type: "text" };
import state from "./state.bash" with { type: "text" };

const PARTS = { find_daemon, limit_time, read_all, settle_shell, state };

/**
 * The script with its common parts in place of the lines that name them, as `# @state`. Bash copies
 * a function for each call, so the parts that every run needs are not functions.
 */
export function completeScript(script: string): string {
  return Object.entries(PARTS).reduce(
    (text, [name, part]) => text.replaceAll(`# @${name}\n`, () => part),
    script,
  );
}
