/** The end of an agent's process, with real programs. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { AgentProcess } from "../../../cli/acp/agent_process.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { readLines } from "../../../cli/acp/json_rpc.ts";

/** Each prints the pid of a process that it starts, and ends when its input ends. */
const LEAVING = {
  "a process in the background": "sleep 600 & echo $!; exec cat",
  "a process in a session of its own": `setsid sh -c 'echo $$; exec sleep 600' & exec cat`,
  "a process that does not react to SIGTERM":
    `sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & exec cat`,
};

for (const [kind, script] of Object.entries(LEAVING)) {
  Deno.test(`an agent that ends by itself leaves no process: ${kind}`, async () => {
    const agent = new AgentProcess(["sh", "-c", script], Deno.env.toObject(), systemClock);
    const { value } = await readLines(agent.streams.input).next();
    const pid = Number(value);
    assert(isAlive(pid));
    await agent.end();
    assert.equal(await agent.code, 0);
    assert(!isAlive(pid));
  });
}
