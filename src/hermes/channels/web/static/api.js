// Calls the server's JSON API and reads its event streams.

export class ServerError extends Error {
  constructor(status, body, retryAfter) {
    super(body?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.refusal = body?.refusal ?? null;
    this.retryAfter = retryAfter;
  }
}

// The page stays where it is if a request in the background finds that the browser is signed out.
async function call(path, { isBackground = false, ...options } = {}) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.ok) return answer;
  if (answer.status === 401 && !isBackground) leave();
  const body = await answer.json().catch(() => null);
  throw new ServerError(answer.status, body?.error, Number(answer.headers.get("retry-after")));
}

let isLeaving = false;

// The browser is signed out: notify the page once; the reload then shows the sign-in page.
function leave() {
  if (isLeaving) return;
  isLeaving = true;
  dispatchEvent(new Event("signed-out"));
  location.reload();
}

async function post(path, value, signal) {
  return call(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
    signal,
  });
}

// A session that has ended already needs no end.
export async function signOut() {
  const answer = await fetch("/signout", { method: "POST", cache: "no-store" });
  if (answer.ok || answer.status === 401) return;
  const body = await answer.json().catch(() => null);
  throw new ServerError(answer.status, body?.error, null);
}

export const getMe = async () => (await call("/web/me")).json();

export const getSessions = async () => (await call("/web/sessions")).json();

// Without an id all sessions of this person end but the one of this browser.
export const endSessions = async (id = "") => (await post("/web/sessions/end", { id })).json();

export const getInfo = async () => (await call("/web/info")).json();

// The commands and the models that can be chosen.
export const getMenu = async () => (await call("/web/menu", { isBackground: true })).json();

export const getStory = async (id) =>
  (await call(`/web/messages/${encodeURIComponent(id)}/why`)).json();

export const getConversations = async (options) =>
  (await call("/web/conversations", options)).json();

// `page` may have `limit` and `before`, the `earlier` of another page.
export const getConversation = async (id, page = {}, options = {}) => {
  const path = `/web/conversations/${encodeURIComponent(id)}?${new URLSearchParams(page)}`;
  return (await call(path, options)).json();
};

export const stopConversation = async (conversation) => post("/web/stop", { conversation });

// A message with files is a form: one part for the message, and one for each file.
export async function postMessage({ files = [], ...message }, signal) {
  if (!files.length) return post("/web/messages", message, signal);
  const body = new FormData();
  body.append("message", new Blob([JSON.stringify(message)]), "message");
  for (const file of files) body.append("file", file, file.name || "file");
  return call("/web/messages", { method: "POST", body, signal });
}

export const getEvents = async (id, signal) =>
  call(`/web/messages/${encodeURIComponent(id)}/events`, { signal });

// Yields {event, data}; calls `onBytes` for every piece that arrives, keep-alives too.
export async function* readEvents(answer, onBytes) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onBytes();
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const parsed = parseFrame(frame);
      if (parsed) yield parsed;
    }
  }
}

function parseFrame(frame) {
  let event = "message";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return data ? { event, data: JSON.parse(data) } : null;
}
