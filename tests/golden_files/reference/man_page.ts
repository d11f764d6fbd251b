/** Renders `docs/generated/mesh.1`: the manual page of `mesh`, from the help of its commands. */

import { VERSION } from "kit/core/version.ts";
import { SUMMARY } from "../../../cli/command/help.ts";
import { EXIT_MEANINGS, type ListedCommand, listedGroups, shownFlag } from "./command_list.ts";

const ENVIRONMENT: Readonly<Record<string, string>> = {
  MESH_CONFIG: "The configuration file. Default: $XDG_CONFIG_HOME/mesh/config.yaml.",
  MESH_STATE: "The directory of the database and the log. Default: $XDG_STATE_HOME/mesh.",
  "MESH_SECTION__KEY":
    "Overrides a setting of the configuration file: MESH_DAEMON__PORT sets daemon.port.",
  EDITOR: "The editor of `mesh config edit` and of `mesh inbox reply` without a text.",
  NO_COLOR: "If it is set and not empty, nothing is coloured.",
};

export function renderManPage(): string {
  const groups = listedGroups().flatMap(({ title, commands }) => [
    `.SS ${text(title)}`,
    ...commands.flatMap(renderCommand),
  ]);
  return [
    `.TH MESH 1 "" "Agent Mesh ${VERSION}" "Agent Mesh"`,
    ".SH NAME",
    "mesh \\- let coding agents, and you, ask each other questions",
    ".SH SYNOPSIS",
    ".B mesh",
    "[\\fB\\-\\-verbose\\fR] \\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]",
    ".SH DESCRIPTION",
    text(SUMMARY),
    text("The daemon runs on this machine and delivers the messages; `mesh up` starts it."),
    text("`mesh COMMAND --help` shows one command. `mesh` alone shows the daemon and next steps."),
    ".SH COMMANDS",
    ...groups,
    ".SH EXIT STATUS",
    ...definitions(EXIT_MEANINGS),
    ".SH ENVIRONMENT",
    ...definitions(ENVIRONMENT),
    "",
  ].join("\n");
}

function renderCommand({ usage, names, summary, details, flags = {}, example }: ListedCommand) {
  const aliases = names.slice(1);
  return [
    ".TP",
    `.B ${text(`mesh ${usage}`)}`,
    `${text(summary)}.`,
    ...aliases.length > 0 ? [`Also: ${aliases.map(text).join(", ")}.`] : [],
    ...details === undefined ? [] : [text(details)],
    ".RS",
    ...Object.entries(flags).flatMap(([flag, meaning]) => [
      ".TP",
      `\\fB${text(shownFlag(flag))}\\fR`,
      text(meaning),
    ]),
    ".PP",
    "Example:",
    ".EX",
    `  ${text(example)}`,
    ".EE",
    ".RE",
  ];
}

function definitions(entries: Readonly<Record<string, string>>): string[] {
  return Object.entries(entries).flatMap(([name, meaning]) => [
    ".TP",
    `\\fB${text(name)}\\fR`,
    text(meaning),
  ]);
}

/** Text for troff: no backticks, no hyphen that is broken or turned into a dash, no request. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("`", "").replaceAll("-", "\\-")
    .replaceAll("~", "\\(ti").replaceAll("^", "\\(ha").replaceAll("'", "\\(aq")
    .replaceAll("…", "...");
  return escaped.startsWith(".") ? `\\&${escaped}` : escaped;
}
