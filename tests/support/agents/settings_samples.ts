/**
 * Settings files of agents, as people and their tools write them, with the expected result of
 * setup.
 */

const BOM = "\uFEFF";

/** The kind of a file: JSON with hooks, JSON with servers, opencode's, or Codex's TOML. */
export type Kind = "hooks" | "servers" | "opencode" | "toml";

export interface Sample {
  readonly name: string;
  readonly kinds: readonly Kind[];
  /** The content; a function for a file that names the agent. */
  readonly content: string | Uint8Array | ((agent: Agent) => string);
  /** Texts of other programs, which must stay. */
  readonly others?: readonly string[];
  /** The reason why setup refuses the file. */
  readonly refused?: RegExp;
  /** Texts of an older mesh. Setup updates them, and uninstalling removes them. */
  readonly old?: readonly string[];
  /** Codes of further findings of the doctor. */
  readonly doctor?: readonly string[];
  /** Texts that the user added to our entries. They stay as long as our entries. */
  readonly edits?: readonly string[];
}

/** The names of events, and the form of a hook, in one agent's settings. */
export interface Agent {
  readonly id: string;
  readonly event: string;
  hook(command: string): string;
}

const groupedHook = (id: string, event: string): Agent => ({
  id,
  event,
  hook: (command) => `{"hooks":[{"type":"command","command":${JSON.stringify(command)}}]}`,
});

export const HOOK_AGENTS: readonly Agent[] = [
  groupedHook("claude-code", "Stop"),
  groupedHook("codex", "Stop"),
  groupedHook("gemini", "AfterAgent"),
  {
    id: "copilot",
    event: "agentStop",
    hook: (command) => `{"type":"command","bash":${JSON.stringify(command)}}`,
  },
];

const JSONS: readonly Kind[] = ["hooks", "servers", "opencode"];

/** Layouts of JSON without our part, for files of every kind. */
const layouts: Readonly<Record<string, string>> = {
  "an empty object": "{}",
  "an empty object with a line end": "{}\n",
  "an empty object over two lines": "{\n}\n",
  "an empty file": "",
  "a file of blank lines": "\n\n",
  "a byte order mark and nothing else": BOM,
  "a byte order mark": `${BOM}{\n  "model": "a"\n}\n`,
  "a byte order mark, and the line ends of Windows": `${BOM}{\r\n\t"model": "a"\r\n}\r\n`,
  "the line ends of Windows and comments": '{ // mine\r\n  "model": "a", // the good one\r\n}\r\n',
  "tabs": '{\n\t"model": "a",\n\t"list": [\n\t\t1\n\t]\n}\n',
  "no final line end": '{\n  "model": "a"\n}',
  "one line": '{"model":"a","list":[1,2]}',
  "one line with spaces": '{ "model": "a", "list": [ 1, 2 ] }\n',
  "line comments": '// before\n{\n  // inside\n  "model": "a" // after\n}\n// the end\n',
  "a comment without a line end at the end": '{\n  "model": "a"\n} // mine',
  "block comments": '/* a */ {\n  /* b */ "model": /* c */ "a" /* d */\n} /* e */\n',
  "a commented member": '{\n  "model": "a",\n  // "hooks": {},\n  /* "mcp": {} */\n}\n',
  "trailing commas": '{\n  "model": "a",\n  "list": [1, 2,],\n}\n',
  "slashes in texts": '{\n  "url": "https://x//y", "glob": "/*/**/*", "not": "// no comment"\n}\n',
  "keys with dots": '{\n  "hooks.Stop": [1],\n  "mcp.mesh": {"a": 1},\n  "mcpServers.mesh": 2\n}\n',
  "unicode escapes": '{\n  "mod\\u0065l": "\\u4e2d\\ud83d\\ude00",\n  "lone": "\\ud800"\n}\n',
  "texts of all languages": '{\n  "名前": "שלום",\n  "emoji": "👩‍👩‍👧",\n  "rtl": "\u202Eabc"\n}\n',
  "a key twice": '{\n  "model": "a",\n  "model": "b"\n}\n',
  "an empty key": '{\n  "": {"": 1}\n}\n',
  "the key __proto__": '{\n  "__proto__": {"polluted": true},\n  "constructor": 1\n}\n',
  "forty levels": `{"deep": ${"[".repeat(40)}${"]".repeat(40)}}\n`,
  "large and exact numbers":
    '{\n  "id": 12345678901234567890,\n  "x": 1.10, "y": 1e400, "z": -0\n}\n',
  "mixed indentation": '{\n "a": 1,\n      "b": {\n\t"c": 2\n   }\n}\n',
  "a quarter of a megabyte": `{\n  "history": [\n${
    '    "a line of text that somebody wrote",\n'.repeat(6_250)
  }    1\n  ]\n}\n`,
};

const refusals: Readonly<Record<string, readonly [string | Uint8Array, RegExp]>> = {
  "null": ["null\n", /expected a JSON object/],
  "a list": ["[]\n", /expected a JSON object/],
  "a text": ['"hello"', /expected a JSON object/],
  "an unfinished object": ['{\n  "model": "a"\n', /not JSON .*line 2|not JSON .*line 3/],
  "two objects": ["{}\n{}\n", /not JSON .*line 2/],
  "single quotes": ["{'model': 'a'}\n", /not JSON .*line 1/],
  "a missing comma": ['{\n  "a": 1\n  "b": 2\n}\n', /CommaExpected in line 3/],
  "a hundred levels": [`{"deep": ${"[".repeat(100)}${"]".repeat(100)}}`, /levels/],
  "Latin-1": [new Uint8Array([123, 34, 97, 34, 58, 34, 0xe9, 34, 125]), /not UTF-8/],
  "UTF-16": [new Uint8Array([0xff, 0xfe, 123, 0, 125, 0]), /not UTF-8/],
};

/** Hooks of other programs that have the form of ours. */
const foreign_hooks = (id: string, event: string) => [
  `limem hook ${id} ${event}`,
  `wezterm-agent-dashboard hook ${id} ${event}`,
  `context-mode hook ${id} ${event.toLowerCase()}`,
  `/opt/nowhere/meshctl hook ${id} ${event}`,
  `mesh hook ${id} ${event} --verbose`,
  `node /srv/mesh/cli.js hook ${id} ${event}`,
  `npx -y @acme/mesh hook ${id} ${event}`,
  `sh -c 'say hook ${id} ${event}'`,
  `echo hook ${id} ${event}`,
];

const foreign_servers: Readonly<Record<string, string>> = {
  "a package of that name": '{"command":"npx","args":["-y","@acme/mesh","mcp"]}',
  "a program of that name on the PATH": '{"command":"mesh","args":["mcp"]}',
  "a program of that name elsewhere": '{"command":"/opt/service-mesh/bin/mesh","args":["mcp"]}',
  "another script": '{"command":"node","args":["/srv/mesh/server.js","mcp"]}',
  "an address": '{"type":"http","url":"https://mesh.example/mcp"}',
  "a command without arguments": '{"command":"/usr/bin/mesh-mcp"}',
};

/** The commands of older versions, at places that no longer exist. */
const OLD_COMMANDS: Readonly<Record<string, string>> = {
  "an executable": "/old/bin/mesh",
  "an executable in Deno's folder": "/home/sam/.deno/bin/mesh",
  "a package": "/usr/local/lib/node_modules/agent-mesh/mesh",
  "a package in the cache of npx":
    "/home/sam/.npm/_npx/1f/node_modules/deno/deno run -A --quiet /home/sam/.npm/_npx/1f/node_modules/agent-mesh/parts/main.js",
  "sources": "/usr/bin/nodeno/deno run -A --quiet /old/src/main.ts",
  "a bundle":
    "/old/deno run -A --quiet --no-config --no-lock --unstable-no-legacy-abort --unstable-lazy-dynamic-imports /old/parts/main.js",
  "a path with a space and a quote": `'/old/my tool'\\''s/mesh'`,
};

const hooksOf = ({ event, hook }: Agent, ...commands: string[]) =>
  `{\n  "model": "a", // mine\n  "hooks": {"${event}": [${commands.map(hook).join(", ")}]}\n}\n`;
/** The mark of each agent's hooks, so that an executable of any name is known. */
const marked = ({ id }: Agent, program: string) =>
  id === "claude-code"
    ? `${program} hook ${id} Wake`
    : id === "codex"
    ? `s="\${XDG_STATE_HOME:-$HOME/.local/state}/mesh"; [ ! -e "\${MESH_STATE:-$s}/urgent/codex" ] || ${program} hook codex PostToolUse`
    : `MESH_AGENT_PID=$PPID ${program} hook ${id} SessionEnd`;

export const SAMPLES: readonly Sample[] = [
  ...Object.entries(layouts).map(([name, content]) => ({ name, content, kinds: JSONS })),
  ...Object.entries(refusals).map(([name, [content, refused]]) => ({
    name,
    content,
    refused,
    kinds: JSONS,
  })),
  {
    name: "empty objects and lists",
    kinds: ["hooks"],
    content: ({ event }) => `{\n  "hooks": { "${event}": [ ], "Other": [] }\n}\n`,
  },
  { name: "hooks that are null", kinds: ["hooks"], content: '{"hooks": null}\n' },
  {
    name: "hooks that are a list",
    kinds: ["hooks"],
    content: '{"hooks": []}',
    refused: /"hooks" is/,
  },
  {
    name: "an event that is an object",
    kinds: ["hooks"],
    content: ({ event }) => `{"hooks": {"${event}": {}}}`,
    refused: /is not a list/,
  },
  {
    name: "hooks twice, of which the last is read",
    kinds: ["hooks"],
    content: (agent) =>
      `{"hooks": {"${agent.event}": [${agent.hook("first")}]},\n "hooks": {"${agent.event}": [${
        agent.hook("last")
      }]}}\n`,
    others: ['"first"', '"last"'],
  },
  ...Array.from({ length: foreign_hooks("x", "X").length }, (_, at): Sample => ({
    name: `another program's hook in our form, ${at + 1}`,
    kinds: ["hooks"],
    content: (agent) => hooksOf(agent, foreign_hooks(agent.id, agent.event)[at] ?? ""),
    others: [(foreign_hooks("", "")[at] ?? "").split(" hook ")[0] ?? "", "// mine"],
  })),
  {
    name: "hooks of no known form",
    kinds: ["hooks"],
    content: ({ event }) =>
      `{"hooks": {"${event}": [null, 1, "x", {"hooks": 3}, {"hooks": [null]}]}}`,
    others: ['null, 1, "x", {"hooks": 3}, {"hooks": [null]}'],
  },
  ...Object.entries(OLD_COMMANDS).map(([name, program]): Sample => ({
    name: `a hook of an older mesh: ${name}`,
    kinds: ["hooks"],
    content: (agent) =>
      hooksOf(agent, "say done", `${program} hook ${agent.id} ${agent.event}`, "limem hook x"),
    others: ["say done", "limem hook x"],
    old: [JSON.stringify(program).slice(1, -1)],
  })),
  {
    name: "hooks of an older mesh under another name, known by its mark",
    kinds: ["hooks"],
    content: (agent) =>
      hooksOf(
        agent,
        marked(agent, "/old/bin/am"),
        `/old/bin/am hook ${agent.id} ${agent.event}`,
        `/old/bin/an hook ${agent.id} ${agent.event}`,
      ),
    others: ["/old/bin/an hook"],
    old: ["/old/bin/am "],
  },
  {
    name: "two copies of our hook, and one in another program's group",
    kinds: ["hooks"],
    content: (agent) => {
      const own = `/old/mesh hook ${agent.id} ${agent.event}`;
      return hooksOf(agent, own, "say done", own);
    },
    others: ["say done"],
    old: ["/old/mesh"],
  },
  {
    name: "our hook with a limit and a filter of its user",
    kinds: ["hooks"],
    content: (agent) =>
      hooksOf(agent, `/old/mesh hook ${agent.id} ${agent.event}`)
        .replace('{"type"', '{"note": "mine","type"'),
    old: ["/old/mesh"],
    edits: ['"note": "mine"'],
  },
  ...Object.entries(foreign_servers).map(([name, server]): Sample => ({
    name: `another program's server named mesh: ${name}`,
    kinds: ["servers"],
    content: `{\n  "mcpServers": {\n    "mesh": ${server} // theirs\n  }\n}\n`,
    refused: /mcpServers\.mesh belongs to another program.*--replace/,
  })),
  {
    name: "servers of others",
    kinds: ["servers"],
    content: '{\n  "mcpServers": {\n    "other": {"command":"mesh","args":["mcp"]},\n  }\n}\n',
    others: ['"other": {"command":"mesh","args":["mcp"]}'],
  },
  {
    name: "servers in a list",
    kinds: ["servers"],
    content: '{"mcpServers": []}',
    refused: /mcpServers/,
  },
  {
    name: "servers of opencode, with a comment",
    kinds: ["opencode"],
    content:
      '{\n  "mcp": { /* theirs */\n    "other": {"type":"local","command":["mesh","mcp"]},\n  },\n}\n',
    others: ["/* theirs */", '"other": {"type":"local","command":["mesh","mcp"]}'],
  },
  {
    name: "another program's server in opencode",
    kinds: ["opencode"],
    content: '{"mcp": {"mesh": {"type":"local","command":["npx","mesh","mcp"],"enabled":true}}}',
    refused: /mcp\.mesh belongs to another program.*--replace/,
  },
  {
    name: "our server of an older mesh in opencode, switched off by its user",
    kinds: ["opencode"],
    content:
      '{\n  "mcp": {\n    "mesh": {"type":"local","command":["/old/mesh","mcp"],"enabled":false,"note":1}\n  }\n}\n',
    old: ["/old/mesh"],
    edits: ['"enabled":false,"note":1'],
    doctor: ["AGENT_SERVER_OFF"],
  },
  {
    name: "servers twice in opencode, of which the last is read",
    kinds: ["opencode"],
    content: '{\n  "mcp": {"a": {"url": "1"}},\n  "mcp": {"b": {"url": "2"}}\n}\n',
    others: ['"mcp": {"a": {"url": "1"}}', '"b": {"url": "2"}'],
  },
  ...([
    ["no TOML yet", ""],
    ["a line end", "\n"],
    ["comments only", "# mine\n# 2\n"],
    ["a table without a line end", '[tui]\ntheme = "x"'],
    ["the line ends of Windows in TOML", 'model = "a"\r\n\r\n[tui]\r\ntheme = "x"\r\n'],
    ["a byte order mark in TOML", `${BOM}model = "a"\n`],
    ["dotted keys", 'mcp_servers.other.command = "x"\nmcp_servers.other.args = ["mcp"]\n'],
    ["quoted keys", '["mcp_servers"."other"]\ncommand = "mesh"\nargs = ["mcp"]\n'],
    ["arrays of tables", '[[hooks.x]]\nname = "mesh"\n[[hooks.x]]\nname = "b"\n'],
    ["a text that looks like our table", 'note = """\n[mcp_servers.mesh]\ncommand = "/x"\n"""\n'],
    ["a text that looks like our comment", "note = '''\n# Put here by `mesh setup`\n'''\n"],
    ["a table of almost our name", '[mcp_servers.mesh2]\ncommand = "mesh"\nargs = ["mcp"]\n'],
    ["dates and numbers", "at = 1979-05-27T07:32:00Z\nn = 1_000\nx = inf\n"],
    ["blank lines at the end", '[tui]\ntheme = "x"\n\n\n'],
  ] as const).map(([name, content]): Sample => ({ name, content, kinds: ["toml"] })),
  ...([
    ["a key twice in TOML", "a = 1\na = 2\n", /not TOML .*line 2/],
    ["invalid TOML", "model = \n", /not TOML/],
    ["servers in an inline table", 'mcp_servers = { o = { command = "x" } }\n', /inline table/],
    ["servers that are a text", 'mcp_servers = "none"\n', /not a table/],
    [
      "another program's server in TOML",
      '[mcp_servers.mesh]\ncommand = "npx"\nargs = ["mesh", "mcp"]\n',
      /mcp_servers\.mesh belongs to another program.*--replace/,
    ],
    [
      "another program's server in TOML, inline",
      'mcp_servers.mesh = { command = "/usr/bin/nomesh", args = ["mcp"] }\n',
      /mcp_servers\.mesh belongs to another program/,
    ],
    ["Latin-1 in TOML", new Uint8Array([35, 32, 0xe9, 10]), /not UTF-8/],
  ] as const).map(([name, content, refused]): Sample => ({
    name,
    content,
    refused,
    kinds: ["toml"],
  })),
  {
    name: "our table of an older mesh, with a member of its user and a header in another form",
    kinds: ["toml"],
    content: 'model = "a"\n\n[ mcp_servers . "mesh" ] # mine\ncommand = "/old/am"\n' +
      'args = [ "mcp" ] # x\nenv_vars = ["MESH_STATE"]\nstartup_timeout_sec = 20\n\n[tui]\nx = 1\n',
    others: ['model = "a"\n', "[tui]\nx = 1\n"],
    old: ["/old/am"],
    edits: ["startup_timeout_sec = 20"],
  },
];
