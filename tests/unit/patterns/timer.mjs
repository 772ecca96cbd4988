// Runs regular expressions on inputs and answers the processor time, or null for one that was stopped;
// one JSON text a line. The first argument is the time limit in seconds.

import { createInterface } from "node:readline";
import { Script, createContext } from "node:vm";

const context = createContext({});
const search = new Script("for (const match of text.matchAll(pattern)) void match;");
const timeout = Number(process.argv[2]) * 1000;

for await (const line of createInterface({ input: process.stdin })) {
  const { source, flags, begin, piece, end, size } = JSON.parse(line);
  const text = begin + piece.repeat(Math.max(1, Math.floor(size / piece.length))) + end;
  // One text of letters in a row: a chain of joined pieces would be flattened inside the measure.
  text.charCodeAt(0);
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  const before = process.cpuUsage();
  let stopped = false;
  try {
    search.runInContext(Object.assign(context, { text, pattern }), { timeout });
  } catch (error) {
    if (error.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    stopped = true;
  }
  const { user, system } = process.cpuUsage(before);
  console.log(stopped ? null : (user + system) / 1e6);
}
