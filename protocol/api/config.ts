/** The route of the configuration in force. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";

/** Where a value comes from; the environment overrides the file. */
export const SettingSource = z.enum(["default", "file", "environment"]);

export const Setting = z.object({
  key: z.string(),
  source: SettingSource,
  /** The path of the file, or the name of the variable; null for a default. */
  origin: z.string().nullable(),
  /**
   * - `shown`: `value` is the value;
   * - `names`: the value may hold secrets, so `value` has only the names of its entries;
   * - `hidden`: the value is a secret or may hold one, so `value` is null.
   */
  form: z.enum(["shown", "names", "hidden"]),
  /** False for a setting without a value. */
  is_set: z.boolean(),
  value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).nullable(),
});
export type Setting = z.output<typeof Setting>;

export const getConfig = contract({
  id: "config.get",
  method: "GET",
  path: "/config",
  summary: "The settings in force and where each comes from; never the value of a secret",
  access: "caller",
  tunnel: "admin",
  returns: z.object({
    /** Of the file, whether it exists or not. */
    path: z.string(),
    settings: z.array(Setting),
  }),
});
