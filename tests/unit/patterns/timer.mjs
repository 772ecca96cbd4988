// Runs regular expressions on inputs and answers the processor time, or null for one that was stopped;
// one JSON text a line. The first argument is the time limit in seconds.

import { createInterface } from "node:readline";
import { Script, createContext } from "node:vm";

// The clock runs inside the script: the thread that watches the time limit is not counted.
const context = createContext({ cpu: process.cpuUsage, took: null });
const search = new Script(
  "{ const before = cpu(); for (const match of text.matchAll(pattern)) void match; took = cpu(before); }",
);
const timeout = Number(process.argv[2]) * 1000;

for await (const line of createInterface({ input: process.stdin })) {
  const { source, flags, begin, piece, end, size } = JSON.parse(line);
  const text = begin + piece.repeat(Math.max(1, Math.floor(size / piece.length))) + end;
  // One text of letters in a row: a chain of joined pieces would be flattened inside the measure.
  text.charCodeAt(0);
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  let stopped = false;
  try {
    search.runInContext(Object.assign(context, { text, pattern }), { timeout });
  } catch (error) {
    if (error.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    stopped = true;
  }
  console.log(stopped ? null : (context.took.user + context.took.system) / 1e6);
}
