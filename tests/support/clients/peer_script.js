/**
 * A peer that the tests drive, in Deno and in Node.js. Arguments: the client's module, the name, a
 * file for its id, and `hang` if asks are not answered. One JSON object a line, in and out.
 */

import { createInterface } from "node:readline";
import process from "node:process";

const [module, name, clientIdFile, mode] = process.argv.slice(2);
const { MeshPeer } = await import(module);
const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const failed = (error) => write({ failed: error.name, code: error.code, message: error.message });

const more = clientIdFile ? { clientIdFile } : {};
const me = await MeshPeer.connect({ name, ...more }).catch((error) => {
  failed(error);
  process.exit(1);
});
me.onAsk(async ({ text, from, options }) => {
  write({ asked: text, from });
  if (mode === "hang") await new Promise(() => undefined);
  if (text === "no") throw new Error("I will not");
  return options.length > 0 ? { option: options[0].id } : `${name} read ${text}`;
});
me.onNotify(({ text }) => write({ note: text }));
write({ ready: me.peerId, name: me.name });

const verbs = {
  ask: async ({ to, text, timeoutMs }) =>
    write({ answer: (await me.ask(to, text, timeoutMs ? { timeoutMs } : {})).text }),
  notify: async ({ to, text }) => write({ sent: (await me.notify(to, text)).state }),
  close: () => (me.close(), process.exit(0)),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { verb, ...fields } = JSON.parse(line);
  verbs[verb](fields)?.catch?.(failed);
}
