// Every text of the dashboard, by key, in English. Code takes them through `t` only, so that another
// language is another table.

const TEXTS = {
  "title": "{page} · Hermes",
  "skip": "Skip to the page",
  "menu": "Menu",
  "pages": "Pages",
  "who": "{role} · {version}",
  "loading": "Loading …",
  "empty": "There is nothing here.",
  "end": "That was everything.",
  "more": "Show more",
  "again": "Try again",
  "filter": "Filter",
  "any": "any",
  "none": "–",
  "unknown": "unknown",
  "yes": "yes",
  "no": "no",
  "done": "Done.",
  "cancel": "Cancel",
  "close": "Close",
  "result": "Result",
  "actions": "Actions",
  "back": "Back to {page}",
  "forbidden": "This page needs the role {least}, and you are signed in as {role}. An owner can make a link or a token with that role.",
  "no_page": "No such page",
  "no_page.words": "The dashboard has no page {name}. The menu lists the pages.",
  "error.unreachable": "Cannot reach the server. Is the gateway running? Try again.",
  "error.refusal": "{message} (hermes why {id})",
  "keys": "Keys",
  "keys.close": "Esc closes this list.",
  "key./": "go to the first field or filter",
  "key.r": "load again",
  "key.m": "go to the menu",
  "key.n": "next page",
  "key.p": "page before",
  "key.?": "this list",
  "chart.time": "time",
  "chart.numbers": "Numbers",
  "unit.ms": "{n} ms",
  "unit.s": "{n} s",
  "unit.minute": "{n} min",
  "unit.hour": "{n} h",
  "unit.day": "{n} d",

  "group.now": "Now",
  "group.people": "People",
  "group.agents": "Agents",
  "group.operation": "Operation",
  "group.access": "Access",

  "page.overview": "Overview",
  "page.orders": "Orders",
  "orders.about": "Everything that an operator can do is an order. The buttons of these pages, the command line and REST give the same ones.",
};

// Labels of fields that their own names do not say well enough.
const LABELS = {
  "at": "when",
  "id": "id",
  "ended_at": "ended",
  "cost_usd": "cost",
  "tokens_in": "tokens in",
  "tokens_out": "tokens out",
};

// Returns a text; {name} in it is replaced by the value of that name.
export function t(key, values = {}) {
  let text = TEXTS[key] ?? key;
  for (const [name, value] of Object.entries(values)) text = text.replaceAll(`{${name}}`, String(value));
  return text;
}

// Returns the label of a field or column.
export const label = (name) => LABELS[name] ?? name.replaceAll("_", " ");
