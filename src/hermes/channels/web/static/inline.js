// The inside of a line: code, bold, italic, struck out, links. Builds nodes, never HTML. A mark
// without its closing mark is plain text; each kind of mark is searched for in vain at most once.

import { mathNode } from "./math.js";

const MAX_DEPTH = 10;
const MAX_TARGET = 4000;
const SAFE = new Set(["http:", "https:", "mailto:"]);
const ESCAPABLE = "\\`*_{}[]()#+-.!|<>~$";
const MAX_MATH = 1000;
const FOOTNOTE = /^\[\^([\w-]{1,40})\](?!:)/;
const CLOSING = ".,;:!?*_~)]";
const STYLES = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "s"],
  ["*", "em"],
  ["_", "em"],
];

export function appendInline(node, text) {
  scan(node, text, 0);
}

export function safeAddress(text) {
  try {
    const url = new URL(text);
    return SAFE.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function scan(node, text, depth) {
  const lost = new Set();
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain) node.append(plain);
    plain = "";
  };
  while (at < text.length) {
    const found = depth < MAX_DEPTH ? spanAt(text, at, depth, lost) : null;
    if (found) {
      flush();
      node.append(found.node);
      at = found.end;
    } else if (text[at] === "\\" && ESCAPABLE.includes(text[at + 1] ?? " ")) {
      plain += text[at + 1];
      at += 2;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  flush();
}

function spanAt(text, at, depth, lost) {
  switch (text[at]) {
    case "`":
      return codeAt(text, at, lost);
    case "!":
      return text[at + 1] === "[" ? linkAt(text, at + 1, depth, lost) : null;
    case "[":
      return footnoteAt(text, at) ?? linkAt(text, at, depth, lost);
    case "$":
      return dollarsAt(text, at, lost);
    case "\\":
      return bracketsAt(text, at, lost);
    case "<":
      return angleAt(text, at);
    case "h":
      return bareAt(text, at);
    case "*":
    case "_":
    case "~":
      return styleAt(text, at, depth, lost);
    default:
      return null;
  }
}

function codeAt(text, at, lost) {
  const marks = /^`+/.exec(text.slice(at, at + 16))[0];
  if (lost.has(marks)) return null;
  const end = text.indexOf(marks, at + marks.length);
  if (end < 0) {
    lost.add(marks);
    return null;
  }
  const node = document.createElement("code");
  node.textContent = withoutPadding(text.slice(at + marks.length, end));
  return { node, end: end + marks.length };
}

function footnoteAt(text, at) {
  if (text[at + 1] !== "^") return null;
  const found = FOOTNOTE.exec(text.slice(at, at + 50));
  if (!found) return null;
  const node = document.createElement("sup");
  node.textContent = found[1];
  return { node, end: at + found[0].length };
}

// `$x$` and `$$x$$`. Two prices in a line are none: before the closing mark is no space, and behind it
// no digit.
function dollarsAt(text, at, lost) {
  const mark = text[at + 1] === "$" ? "$$" : "$";
  const start = at + mark.length;
  if (lost.has(mark) || /\s/.test(text[start] ?? " ")) return null;
  const end = text.indexOf(mark, start + 1);
  if (end < 0) {
    lost.add(mark);
    return null;
  }
  if (/\s/.test(text[end - 1]) || /[\d$]/.test(text[end + mark.length] ?? "")) return null;
  return formula(text, start, end, mark.length);
}

function bracketsAt(text, at, lost) {
  const mark = { "(": "\\)", "[": "\\]" }[text[at + 1]];
  if (!mark || lost.has(mark)) return null;
  const end = text.indexOf(mark, at + 2);
  if (end >= 0) return formula(text, at + 2, end, 2);
  lost.add(mark);
  return null;
}

function formula(text, start, end, width) {
  if (end - start > MAX_MATH) return null;
  return { node: mathNode(text.slice(start, end), { isBlock: false }), end: end + width };
}

function withoutPadding(code) {
  const padded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
  return padded ? code.slice(1, -1) : code;
}

function styleAt(text, at, depth, lost) {
  for (const [mark, tag] of STYLES) {
    if (!text.startsWith(mark, at) || lost.has(mark)) continue;
    const start = at + mark.length;
    if (/\s/.test(text[start] ?? " ")) continue;
    if (mark[0] === "_" && /\w/.test(text[at - 1] ?? " ")) continue;
    const end = closerOf(text, mark, start);
    if (end < 0) {
      lost.add(mark);
      continue;
    }
    const node = document.createElement(tag);
    scan(node, text.slice(start, end), depth + 1);
    return { node, end: end + mark.length };
  }
  return null;
}

function closerOf(text, mark, start) {
  let at = text.indexOf(mark, start + 1);
  while (at >= 0) {
    const before = text[at - 1];
    const after = text[at + mark.length] ?? " ";
    const whole = mark.length === 2 || (before !== mark && after !== mark);
    const ends = !/\s/.test(before) && before !== "\\" && !(mark[0] === "_" && /\w/.test(after));
    if (whole && ends) return mark.length === 2 && after === mark[0] ? at + 1 : at;
    at = text.indexOf(mark, at + (whole ? 1 : 2));
  }
  return -1;
}

function linkAt(text, at, depth, lost) {
  // A label contains no "[", so the search ends at the next one.
  const next = text.indexOf("[", at + 1);
  const label = text.slice(at + 1, next < 0 ? text.length : next).split("](", 1)[0];
  const middle = at + 1 + label.length;
  if (label === "" || !text.startsWith("](", middle)) return null;
  lost.closing ??= closingParentheses(text);
  const end = lost.closing.get(middle + 1) ?? Infinity;
  if (end - middle > MAX_TARGET) return null;
  const target = text.slice(middle + 2, end).trim();
  const title = target.search(/\s["'(]/);
  const href = safeAddress(title < 0 ? target : target.slice(0, title).trimEnd());
  if (href === null) return null;
  const node = anchor(href);
  scan(node, label, depth + 1);
  return { node, end: end + 1 };
}

// Returns the end of each pair of parentheses by its beginning. The text is read once for all of its
// links: many that do not end would each be searched for their end.
function closingParentheses(text) {
  const ends = new Map();
  const open = [];
  for (let at = text.indexOf("("); at >= 0 && at < text.length; at += 1) {
    if (text[at] === "(") open.push(at);
    else if (text[at] === ")" && open.length) ends.set(open.pop(), at);
  }
  return ends;
}

function angleAt(text, at) {
  const match = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/i.exec(text.slice(at, at + 2100));
  return match ? addressSpan(match[1], at + match[0].length) : null;
}

function bareAt(text, at) {
  if (!text.startsWith("http://", at) && !text.startsWith("https://", at)) return null;
  if (/\w/.test(text[at - 1] ?? " ")) return null;
  const raw = /^[^\s<>"'`]{1,2000}/.exec(text.slice(at, at + 2100))[0];
  let length = raw.length;
  while (length > 0 && CLOSING.includes(raw[length - 1])) length -= 1;
  const address = raw.slice(0, length);
  return addressSpan(address, at + address.length);
}

function addressSpan(address, end) {
  const href = safeAddress(address);
  if (href === null) return null;
  const node = anchor(href);
  node.append(address.replace(/^mailto:/i, ""));
  return { node, end };
}

function anchor(href) {
  const node = document.createElement("a");
  node.href = href;
  node.rel = "noopener noreferrer";
  node.target = "_blank";
  return node;
}
