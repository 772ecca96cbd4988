// Colours for code: comments, texts, numbers and the words of a language. It reads a text once from
// left to right, and only ever makes text nodes and spans.

const MOST = 60000;
const TEXTS = [/"(?:[^"\\\n]|\\.)*"?/y, /'(?:[^'\\\n]|\\.)*'?/y];
const NUMBER = /\d[\w.]{0,60}/y;
const WORD = /[A-Za-z_$@][\w$-]*/y;
const HASH = [/#[^\n]*/y];
const SLASHES = [/\/\/[^\n]*/y, ["/*", "*/"]];
const DASHES = [/--[^\n]*/y, ["/*", "*/"]];
const BLOCK = [["/*", "*/"]];
const TICKS = /`(?:[^`\\]|\\[\s\S])*`?/y;
const TRIPLE = [['"""', '"""'], ["'''", "'''"]];

const words = (text) => new Set(text.split(" "));
const C_LIKE =
  "break case catch class const continue default do else enum extends false finally for if import in instanceof interface new null private protected public return static super switch this throw true try typeof var void while";
const PYTHON = words(
  "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield",
);
const SCRIPT = words(
  `${C_LIKE} async await debugger delete export from function let of type undefined with yield readonly implements declare namespace as`,
);
const C_FAMILY = words(
  `${C_LIKE} abstract alignas auto bool boolean byte char constexpr decltype delete double explicit extern final float friend fun func goto impl inline int internal let long match mod mut namespace native nil nullptr operator override package pub range select short signed sizeof struct template trait type typedef typename union unsafe unsigned use using val virtual volatile where go chan defer fn self Self crate async await dyn loop guard protocol extension string`,
);
const SHELL = words(
  "case do done elif else esac export fi for function if in local return select set then until unset while sudo cd echo exit source",
);
const SQL = words(
  "add all alter and as asc begin between by case check column commit create database default delete desc distinct drop else end exists false foreign from full group having if in index inner insert integer into is join key left like limit not null on or order outer primary references returning right rollback select set table text then true union unique update values view when where with",
);
const VALUES = words("true false null yes no on off");
const RUBY = words(
  "begin class def do else elsif end ensure false for if in module next nil not or and redo rescue retry return self super then true undef unless until when while yield require puts",
);

const make = (keywords, comments, texts = TEXTS, { ignoreCase = false } = {}) => ({
  keywords, comments, texts, ignoreCase,
});
const KINDS = {
  python: make(PYTHON, HASH, [...TRIPLE, ...TEXTS]),
  script: make(SCRIPT, SLASHES, [...TEXTS, TICKS]),
  c: make(C_FAMILY, SLASHES),
  shell: make(SHELL, HASH),
  sql: make(SQL, DASHES, TEXTS, { ignoreCase: true }),
  css: make(words("important media import supports keyframes from to"), BLOCK),
  data: make(VALUES, HASH),
  json: make(VALUES, SLASHES),
  ruby: make(RUBY, HASH),
  markup: make(words(""), [["<!--", "-->"]]),
};
const NAMES = {
  python: "py python python3 pycon",
  script: "js javascript mjs jsx ts tsx typescript node",
  c: "c h cpp c++ cc hpp java go golang rust rs cs csharp c# kotlin kt swift php scala dart zig",
  shell: "sh bash zsh shell console fish powershell ps1 dockerfile makefile make",
  sql: "sql sqlite postgres postgresql mysql",
  css: "css scss less",
  data: "yaml yml toml ini conf env properties r",
  json: "json json5 jsonc",
  ruby: "ruby rb perl elixir lua",
  markup: "html xml svg vue",
};
const BY_NAME = new Map(
  Object.entries(NAMES).flatMap(([kind, names]) => names.split(" ").map((name) => [name, KINDS[kind]])),
);

export function appendCode(node, text, language) {
  const name = language.toLowerCase();
  if (text.length > MOST) node.append(text);
  else if (name === "diff" || name === "patch") appendDiff(node, text);
  else if (BY_NAME.has(name)) appendTokens(node, text, BY_NAME.get(name));
  else node.append(text);
}

function appendDiff(node, text) {
  const kinds = { "+": "added", "-": "removed", "@": "note" };
  text.split("\n").forEach((line, number) => {
    const whole = number ? `\n${line}` : line;
    node.append(kinds[line[0]] ? span(kinds[line[0]], whole) : whole);
  });
}

function span(kind, text) {
  const node = document.createElement("span");
  node.className = `c-${kind}`;
  node.textContent = text;
  return node;
}

function appendTokens(node, text, rules) {
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain) node.append(plain);
    plain = "";
  };
  while (at < text.length) {
    const [kind, token] = tokenAt(text, at, rules);
    if (kind) {
      flush();
      node.append(span(kind, token));
    } else plain += token;
    at += token.length;
  }
  flush();
}

function tokenAt(text, at, rules) {
  const comment = firstOf(rules.comments, text, at);
  if (comment) return ["note", comment];
  const quoted = firstOf(rules.texts, text, at);
  if (quoted) return ["text", quoted];
  const number = firstOf([NUMBER], text, at);
  if (number) return ["number", number];
  const word = firstOf([WORD], text, at);
  if (!word) return ["", text[at]];
  return [rules.keywords.has(rules.ignoreCase ? word.toLowerCase() : word) ? "word" : "", word];
}

// A rule is a pattern, or what opens and closes a block.
function firstOf(rules, text, at) {
  for (const rule of rules) {
    const found = Array.isArray(rule) ? blockAt(text, at, rule) : matchAt(text, at, rule);
    if (found) return found;
  }
  return "";
}

function blockAt(text, at, [open, close]) {
  if (!text.startsWith(open, at)) return "";
  const end = text.indexOf(close, at + open.length);
  return text.slice(at, end < 0 ? text.length : end + close.length);
}

function matchAt(text, at, pattern) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
