/**
 * `mesh run claude`: does what is missing for the first answer. Connects the agent, starts the
 * daemon, and starts the agent in a pane, or in this terminal where there is no tmux.
 */

import { pause } from "kit/core/timeout.ts";
import { messageOf } from "kit/core/text.ts";
import { unlessMissing } from "kit/host/file_errors.ts";
import { isDescendant } from "../../../daemon/host/processes.ts";
import type { AgentDefinition } from "../../../daemon/features/agents/definition.ts";
import { AGENTS } from "../../../daemon/features/agents/registry.ts";
import { listPeers, renamePeer, setPeer, spawnPeer } from "protocol/generated/endpoints.ts";
import type { Spawned } from "protocol/spawn/contract.ts";
import { startDaemon } from "../../client/daemon_process.ts";
import { runOnTerminal } from "../../client/editor.ts";
import { programsOnPath } from "../../client/program.ts";
import { CommandError, EXIT, UsageError } from "../../client/failures.ts";
import { readClientSettings } from "../../client/settings.ts";
import type { Args, CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { paneOf, showPane } from "../attach.ts";
import { ownPane, PROFILE_FLAG, REGISTERED_MS_MAX } from "../spawn.ts";
import { waitForAgent } from "../waiting/spawn_wait.ts";

/** Flags of `mesh run` for agents. */
export const AGENT_FLAGS = {
  "-n, --count <count>": "start so many agents",
  "--in <folder>": "the folder to start in; by default the current one",
  "--tag <tag> ...": "give each agent this tag",
  ...PROFILE_FLAG,
  "--detach": "do not show the agent's pane here",
  "-y, --yes": "connect the agent without asking",
} as const;
const COUNT_MAX = 20;
/** Interval of the search for the peer of an agent in this terminal. */
const SEARCH_INTERVAL_MS = 500;
/** Time limit for the daemon to notice that a pane has ended. */
const ENDED_MS_MAX = 3_000;

/** The words after `mesh run` that name an agent, such as `claude`. */
export const AGENT_PROGRAMS = AGENTS.flatMap(({ setup, programs: [program] }) =>
  setup && program !== undefined ? [program] : []
);

export function agentOf(program: string): AgentDefinition | undefined {
  return AGENTS.find(({ setup, programs }) => setup && programs[0] === program);
}

export async function runAgents(
  context: CommandContext,
  agent: AgentDefinition,
  args: Args,
): Promise<number> {
  const { env, terminal } = context;
  const count = countOf(args);
  await checkWords(args);
  const hasTmux = programsOnPath("tmux", env).length > 0;
  if (!hasTmux) mustRunHere(context, agent, args);
  const { connectAgent } = await import("../../setup/setup_command.ts");
  const isNew = await connectAgent(agent.id, env, { yes: args.flag("yes") });
  if (isNew && agent.setup?.notice) terminal.print(agent.setup.notice);
  // The connection may have written a token, which the settings of the command's start lack.
  const fresh = context.with({ readSettings: readClientSettings });
  const { started } = await startDaemon(fresh);
  if (started) terminal.print("Started the daemon");
  if (!hasTmux) return await runHere(fresh, agent, args);
  const agents: Spawned[] = [];
  for (let number = 0; number < count; number++) {
    const spawned = await start(fresh, agent, args, agents);
    agents.push(spawned);
    const { display_name, tmux_session, pane_id } = spawned;
    const wanted = args.get("name") ?? display_name;
    if (wanted !== display_name) {
      terminal.print(`"${wanted}" is the name of another peer here, so this agent has its own:`);
    }
    terminal.print(styled("bold", display_name), `  starts in tmux ${tmux_session} ${pane_id}`);
  }
  const [first] = agents;
  terminal.print("Ask it: ", styled("cyan", `mesh ask ${first?.display_name} "…" --wait`));
  const tags = args.list("tag");
  const isDetached = args.flag("detach") || terminal.device.keys === undefined;
  if (isDetached || tags.length > 0) {
    await Promise.all(agents.map((spawned) => awaitRegistration(fresh, spawned, tags)));
  }
  if (!isDetached && first) await show(fresh, first);
  return EXIT.done;
}

function countOf(args: Args): number {
  const text = args.get("count") ?? "1";
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > COUNT_MAX) {
    throw new UsageError(
      `-n "${text}" is not a number from 1 to ${COUNT_MAX}; give one, such as -n 3`,
    );
  }
  if (count > 1 && args.get("name") !== undefined) {
    throw new UsageError(
      "--name names one agent; leave it out with -n, and each agent gets a name of its own",
    );
  }
  return count;
}

/** Refuses a name, a tag or a folder that the daemon would refuse. Nothing has been changed yet. */
async function checkWords(args: Args): Promise<void> {
  const [{ Name }, { Tag }] = await Promise.all([
    import("kit/core/schema.ts"),
    import("protocol/peers/record.ts"),
  ]);
  const words = [
    ...["name", "circle"].map((flag) => ({ flag, schema: Name, word: args.get(flag) })),
    ...args.list("tag").map((word) => ({ flag: "tag", schema: Tag, word })),
  ];
  for (const { flag, schema, word } of words) {
    const { error } = schema.optional().safeParse(word);
    if (error) throw new UsageError(`--${flag} "${word}": ${error.issues[0]?.message}`);
  }
  const folder = args.get("in");
  if (folder !== undefined && !unlessMissing(() => Deno.statSync(folder))?.isDirectory) {
    throw new CommandError(`"${folder}" is not a folder; name an existing one with --in`);
  }
}

/** Starts one agent in a pane, under the first name that no peer and no agent before it has. */
async function start(
  context: CommandContext,
  agent: AgentDefinition,
  args: Args,
  before: readonly Spawned[],
): Promise<Spawned> {
  const { query, source_pane } = ownPane(context);
  const [program = ""] = agent.programs;
  const words = args.list("args");
  return await context.call(spawnPeer, {
    query,
    body: {
      path: context.absolutePath(args.get("in") ?? Deno.cwd()),
      backend: agent.id,
      profile: args.get("profile"),
      circle: args.get("circle"),
      name: args.get("name") ?? await freeName(context, program, before),
      ...(words.length > 0 && { args: words }),
      source_pane,
    },
  });
}

async function freeName(
  { call }: CommandContext,
  program: string,
  before: readonly Spawned[],
): Promise<string> {
  const { peers } = await call(listPeers, { query: {} });
  const started = before.map(({ display_name }) => display_name);
  const present = peers.filter(({ status }) => status !== "retired");
  const taken = new Set([...present.map(({ name }) => name), ...started]);
  for (let number = 2, name = program;; name = `${program}-${number++}`) {
    if (!taken.has(name)) return name;
  }
}

/** Waits until a started agent is a peer, and gives it its tags. */
async function awaitRegistration(
  context: CommandContext,
  spawned: Spawned,
  add_tags: readonly string[],
): Promise<void> {
  const peer_id = await waitForAgent(context, spawned, REGISTERED_MS_MAX);
  if (peer_id !== undefined) {
    if (add_tags.length === 0) return;
    const body = { add_tags: [...add_tags] };
    await context.call(setPeer, { params: { id: peer_id }, query: {}, body });
    return;
  }
  const { display_name: name, pane_id } = spawned;
  context.terminal.printError(
    `mesh: ${name} has not reported yet; its pane may show why: mesh attach ${pane_id}`,
  );
}

async function show(context: CommandContext, spawned: Spawned): Promise<void> {
  const { env } = context;
  const { display_name: name, pane_id, tmux_socket } = spawned;
  try {
    await showPane(paneOf({ peer_id: name, name, pane_id, tmux_socket }, env).command, env);
  } catch (error) {
    await waitForAgent(context, spawned, ENDED_MS_MAX); // Throws if the pane has ended.
    throw error;
  }
}

/** Refuses what only an agent in a tmux pane can have. Nothing has been changed yet. */
function mustRunHere(
  { terminal }: CommandContext,
  { programs: [program = ""] }: AgentDefinition,
  args: Args,
): void {
  const count = countOf(args);
  const flag = count > 1
    ? `-n ${count}`
    : args.flag("detach")
    ? "--detach"
    : ["--profile", "--circle"].find((flag) => args.get(flag.slice(2)) !== undefined);
  if (flag !== undefined) {
    throw new CommandError(
      `${flag} needs tmux, which is not on the PATH. Install tmux, or run each agent in a ` +
        `terminal of its own: mesh run ${program}`,
    );
  }
  if (terminal.device.keys !== undefined) return;
  throw new CommandError(
    `Without tmux, ${program} runs in the terminal of this command, which has none. Install ` +
      `tmux, or run it in a terminal: mesh run ${program}`,
  );
}

/** Runs the agent in this terminal, where no pane can be made. */
async function runHere(
  context: CommandContext,
  { programs: [program = ""], title }: AgentDefinition,
  args: Args,
): Promise<number> {
  const { env, terminal } = context;
  terminal.print(`${title} runs in this terminal, because tmux is not on the PATH`);
  const ended = new AbortController();
  let named: Promise<string | undefined> | undefined;
  const argv = [program, ...args.list("args")];
  const cwd = context.absolutePath(args.get("in") ?? Deno.cwd());
  const { code } = await runOnTerminal(argv, { env, cwd }, (pid) => {
    named = nameHere(context, pid, args, ended.signal);
  });
  ended.abort();
  const failure = await named;
  if (failure !== undefined) terminal.printError(`mesh: ${failure}`);
  return code;
}

/**
 * Gives the agent of a process its name and its tags, once its hooks have registered it. Returns
 * the reason if that fails, for after its end: the terminal is the agent's.
 */
async function nameHere(
  { call, clock }: CommandContext,
  pid: number,
  args: Args,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [name, tags] = [args.get("name"), args.list("tag")];
  if (name === undefined && tags.length === 0) return undefined;
  const until = clock.monotonic() + REGISTERED_MS_MAX;
  const failed = "The agent did not get its name or its tags";
  try {
    while (!signal.aborted && clock.monotonic() < until) {
      const { peers } = await call(listPeers, { query: {} });
      const own = peers.find(({ agent_pid }) => agent_pid !== null && isDescendant(agent_pid, pid));
      if (own) {
        const peer = { params: { id: own.peer_id }, query: {} };
        if (tags.length > 0) await call(setPeer, { ...peer, body: { add_tags: [...tags] } });
        if (name !== undefined) await call(renamePeer, { ...peer, body: { name } });
        return undefined;
      }
      await pause(clock, SEARCH_INTERVAL_MS, signal);
    }
  } catch (error) {
    return `${failed}: ${messageOf(error)}`;
  }
  return `${failed}: its hooks have not registered it`;
}
