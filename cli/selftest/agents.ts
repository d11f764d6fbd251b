/** The agents that selftest can play, one entry each. */

import { claudeCode } from "./agents/claude_code.ts";
import { codex } from "./agents/codex.ts";
import { copilot } from "./agents/copilot.ts";
import { gemini } from "./agents/gemini.ts";
import { opencode } from "./agents/opencode.ts";
import type { Specimen } from "./specimen.ts";

export const SPECIMENS: readonly Specimen[] = [claudeCode, codex, copilot, gemini, opencode];
