/** Agents as apps of the relay: their homes, logins and prompts. */

import { claudeCodeFixture } from "../../daemon/features/agents/claude_code/fixture.ts";
import { codexFixture } from "../../daemon/features/agents/codex/fixture.ts";
import { copilotFixture } from "../../daemon/features/agents/copilot/fixture.ts";
import { geminiFixture } from "../../daemon/features/agents/gemini/fixture.ts";
import { opencodeFixture } from "../../daemon/features/agents/opencode/fixture.ts";
import type { Fixture } from "../../daemon/features/agents/selftest/fixture.ts";
import {
  CLAUDE_CODE,
  CODEX,
  COPILOT_COMMAND,
  GEMINI_COMMAND,
  OPENCODE,
  type Release,
} from "../support/e2e/installed_agents.ts";

export interface AgentApp {
  readonly title: string;
  readonly release: Release;
  readonly fixture: Fixture;
  /** The file of the home that names MCP servers. */
  readonly config: string;
  /** Adds the relay to that file. */
  addServer(text: string, mcp_url: string): string;
  readonly env?: Readonly<Record<string, string>>;
  /** The command that logs in. It needs a terminal. */
  readonly login: readonly string[];
  /** Text at which the person presses Enter. */
  readonly confirm?: RegExp;
  /** True if the program stays open after its login. */
  readonly stays?: true;
  /** The command that runs a prompt without a terminal. */
  readonly prompt: readonly string[];
}

export const AGENT_APPS: readonly AgentApp[] = [
  {
    title: "Claude Code",
    release: { ...CLAUDE_CODE, version: "2.1.332" },
    fixture: claudeCodeFixture,
    config: ".claude.json",
    addServer: inJson((url) => ({ mcpServers: { mesh: { type: "http", url } } })),
    // Its model would have to search for tools first.
    env: { ENABLE_TOOL_SEARCH: "false" },
    login: ["claude", "mcp", "login", "mesh"],
    prompt: ["claude", "--allowedTools", "mcp__mesh", "-p"],
  },
  {
    title: "Codex",
    release: CODEX,
    fixture: codexFixture,
    config: ".codex/config.toml",
    addServer: (text, url) =>
      `mcp_oauth_credentials_store = "file"\n${text}
[mcp_servers.mesh]\nurl = "${url}"\ndefault_tools_approval_mode = "approve"\n`,
    login: ["codex", "mcp", "login", "mesh"],
    prompt: ["codex", "exec", "--skip-git-repo-check"],
  },
  {
    title: "Gemini CLI",
    release: GEMINI_COMMAND,
    fixture: geminiFixture,
    config: ".gemini/settings.json",
    addServer: inJson((httpUrl) => ({ mcpServers: { mesh: { httpUrl, trust: true } } })),
    login: [...geminiFixture.command, "-i", "'/mcp auth mesh'"],
    confirm: /Do you want to continue\?/,
    stays: true,
    prompt: [...geminiFixture.command, "-p"],
  },
  {
    title: "opencode",
    release: OPENCODE,
    fixture: opencodeFixture,
    config: ".config/opencode/opencode.json",
    addServer: inJson((url) => ({ mcp: { mesh: { type: "remote", url } } })),
    login: ["opencode", "mcp", "auth", "mesh"],
    prompt: ["opencode", "run"],
  },
  {
    title: "Copilot CLI",
    release: COPILOT_COMMAND,
    fixture: copilotFixture,
    config: ".copilot/mcp-config.json",
    addServer: inJson((url) => ({ mcpServers: { mesh: { type: "http", url, tools: ["*"] } } })),
    // Copilot opens the browser by itself when it starts.
    login: ["copilot"],
    stays: true,
    prompt: ["copilot", "--allow-all-tools", "-p"],
  },
];

function inJson(entry: (url: string) => object): AgentApp["addServer"] {
  return (text, url) => JSON.stringify({ ...JSON.parse(text || "{}"), ...entry(url) });
}
