/** Title and texts of the daemon's API description, which its contracts do not have. */

import { VERSION } from "kit/core/version.ts";
import type { ApiInfo } from "kit/http/openapi.ts";
import { PROBLEMS } from "protocol/problems.ts";
import { BODIES, SAMPLES } from "./samples.ts";
import { tagOf, TAGS } from "./tags.ts";

export const API_INFO: ApiInfo = {
  title: "Agent Mesh daemon",
  version: VERSION,
  description:
    "The HTTP API of the local daemon through which coding agents, programs and you ask " +
    "each other. The command line, the dashboard and the MCP tools call these routes. A refusal " +
    "is JSON with a code in `error`, a sentence in `detail`, and often what to do in `hint`.",
  server: { url: "http://127.0.0.1:{port}", port: "8377" },
  tags: TAGS,
  tagOf,
  samples: SAMPLES,
  bodies: BODIES,
  problems: PROBLEMS,
};
