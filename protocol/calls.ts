/** The routes by which this machine calls the routes of another machine, as data. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";

/** Fields that the calls of all methods share. The other machine's route has the schemas. */
const anyCall = {
  path: "/machines/:id/call/*",
  described_path: "/machines/:id/call/:path",
  access: "token",
  tunnel: "never",
  params: z.object({
    id: z.string().describe("A daemon id, or a machine's name"),
    path: z.string().describe("The path of a route there, of any number of segments"),
  }),
  returns: z.unknown(),
  fails: ["unknown_machine_name", "machine_unreachable", "machine_not_yours", "call_too_large"],
} as const;

export const callGet = contract({
  ...anyCall,
  id: "machines.call_get",
  method: "GET",
  summary: "What another machine answers to GET of the rest of the path",
});

export const callPost = contract({
  ...anyCall,
  id: "machines.call_post",
  method: "POST",
  summary: "What another machine answers to POST of the rest of the path",
});

export const callPatch = contract({
  ...anyCall,
  id: "machines.call_patch",
  method: "PATCH",
  summary: "What another machine answers to PATCH of the rest of the path",
});

export const callDelete = contract({
  ...anyCall,
  id: "machines.call_delete",
  method: "DELETE",
  summary: "What another machine answers to DELETE of the rest of the path",
});
