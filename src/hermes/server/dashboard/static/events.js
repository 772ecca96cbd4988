// Reads a stream of server-sent events: yields {event, data} until it ends or is aborted.

import { OrderError } from "./gateway.js";

export async function* events(address, { signal } = {}) {
  const answer = await fetch(address, { cache: "no-store", headers: { accept: "text/event-stream" }, signal });
  if (!answer.ok) {
    const body = await answer.json().catch(() => null);
    throw new OrderError(answer.status, body?.error);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const found = parsed(frame);
      if (found) yield found;
    }
  }
}

function parsed(frame) {
  let event = "message";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { event, data: JSON.parse(data) } : null;
}
