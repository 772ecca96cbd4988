// Runs regular expressions on inputs and answers the processor time; one JSON text a line.

import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { source, flags, begin, piece, end, size } = JSON.parse(line);
  const text = begin + piece.repeat(Math.max(1, Math.floor(size / piece.length))) + end;
  // One text of letters in a row: a chain of joined pieces would be flattened inside the measure.
  text.charCodeAt(0);
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  const before = process.cpuUsage();
  for (const match of text.matchAll(pattern)) void match;
  const { user, system } = process.cpuUsage(before);
  console.log((user + system) / 1e6);
}
