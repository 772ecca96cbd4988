// Gives operator orders, and knows from the catalogue who may give which.

const LEVELS = ["viewer", "operator", "owner"];

export class OrderError extends Error {
  constructor(status, body) {
    super(body?.message ?? `${status}`);
    this.status = status;
    this.code = body?.code ?? "";
    this.refusal = body?.refusal ?? null;
  }
}

let known = { version: "", actor: "", role: "viewer", pages: [], orders: {} };

export async function loadCatalogue() {
  known = await ask("/dashboard/catalogue.json");
  return known;
}

export const catalogue = () => known;

export const allows = (least) => LEVELS.indexOf(known.role) >= LEVELS.indexOf(least);

export const order = (name) => {
  const row = known.orders[name];
  if (!row) throw new Error(`There is no order ${name}.`);
  return row;
};

export const mayGive = (name) => allows(order(name).least);

// Returns the report of an order; raises OrderError, or TypeError if the server cannot be reached.
export async function give(name, fields = {}, { signal } = {}) {
  const { method, path } = order(name);
  const [route, variant] = path.split("?");
  const rest = { ...fields };
  const filled = route
    .split("/")
    .map((part) => (part.startsWith("{") ? take(rest, part.slice(1, -1)) : part))
    .join("/");
  const hasBody = method !== "GET" && method !== "DELETE";
  const query = new URLSearchParams(variant);
  if (!hasBody) for (const [key, value] of Object.entries(rest)) if (isSaid(value)) query.set(key, value);
  const address = query.size ? `${filled}?${query}` : filled;
  const body = hasBody ? JSON.stringify(rest) : undefined;
  const headers = hasBody ? { "content-type": "application/json" } : {};
  return ask(address, { method, body, headers, signal });
}

function take(fields, name) {
  const value = fields[name];
  delete fields[name];
  return encodeURIComponent(value);
}

const isSaid = (value) => value !== "" && value !== null && value !== undefined;

async function ask(address, options = {}) {
  const answer = await fetch(address, { cache: "no-store", ...options });
  const body = await answer.json().catch(() => null);
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new OrderError(answer.status, body?.error);
  return body;
}
