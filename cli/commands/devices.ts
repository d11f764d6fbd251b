/** `mesh devices`: the paired browsers. `mesh push`: the devices that get notifications. */

import {
  listDevices,
  listPush,
  removeDevice,
  testPush,
  unsubscribePush,
} from "protocol/generated/endpoints.ts";
import { answerCommand, type Command } from "../command/command.ts";
import { styled } from "../output/terminal.ts";
import { formatInstant } from "../output/time.ts";

const DEVICE_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "devices",
    summary: "List the browsers that were paired with `mesh open --phone`",
    example: "mesh devices",
    call: ({ call }) => call(listDevices, {}),
    show: ({ devices }, { terminal }) =>
      terminal.printTable(devices, {
        DEVICE: ({ device_id }) => device_id,
        NAME: ({ name }) => name,
        VIA: ({ via }) => via,
        USED: ({ used_at }) => formatInstant(used_at),
        UNTIL: ({ expires_at }) => formatInstant(expires_at),
      }, { whole: ["DEVICE"], empty: "No devices. Pair one with: mesh open --phone" }),
  }),
  answerCommand({
    usage: "devices remove <id>",
    aliases: ["delete", "rm"],
    summary: "End the session of a paired browser, and its notifications, at once",
    example: "mesh devices remove dev-…",
    call: ({ call }, args) => call(removeDevice, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => terminal.print(styled("green", "removed")),
  }),
];

const PUSH_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "push",
    summary: "List the devices that get notifications while the dashboard is closed",
    example: "mesh push",
    call: ({ call }) => call(listPush, {}),
    show: ({ subscriptions }, { terminal }) =>
      terminal.printTable(subscriptions, {
        DEVICE: ({ subscription_id }) => subscription_id,
        NAME: ({ name }) => name,
        GETS: (device) =>
          (["questions", "approvals", "done"] as const).filter((topic) => device[topic])
            .join(", ") || "nothing",
        LAST: ({ last, end_reason }) =>
          end_reason !== null
            ? styled("red", `ended: ${end_reason}`)
            : last
            ? [last.state, last.reason].filter(Boolean).join(": ")
            : "—",
      }, {
        whole: ["DEVICE"],
        empty:
          "No device gets notifications. Switch them on in the dashboard's Settings: mesh open",
      }),
  }),
  answerCommand({
    usage: "push test <id>",
    summary: "Send a device a notification that says that notifications arrive",
    example: "mesh push test psub-…",
    call: ({ call }, args) => call(testPush, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => terminal.print("Sent. `mesh push` shows how far it got."),
  }),
  answerCommand({
    usage: "push remove <id>",
    aliases: ["delete", "rm"],
    summary: "Send a device no more notifications",
    example: "mesh push remove psub-…",
    call: ({ call }, args) => call(unsubscribePush, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => terminal.print(styled("green", "removed")),
  }),
];

export const DEVICE_AND_PUSH_COMMANDS: readonly Command[] = [...DEVICE_COMMANDS, ...PUSH_COMMANDS];
