// LaTeX to MathML nodes: what people and models usually write. What it does not know is shown as it
// was written. It only makes nodes and text, and is bounded in length and depth.

import { ACCENTS, ALPHABETS, BIG, FENCED, FUNCTIONS, GREEK, SPACES, SYMBOLS } from "./math_names.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const MOST = 4000;
const MAX_DEPTH = 40;
const TOKEN = /\\(?:[A-Za-z]{1,30}|[\s\S])|\d{1,30}(?:\.\d{1,30})?|\S/gu;

export function mathNode(source, { isBlock }) {
  const math = make("math");
  if (isBlock) math.setAttribute("display", "block");
  try {
    if (source.length > MOST) throw new Error("too long");
    const reader = new Reader(source, isBlock);
    math.append(reader.row(() => reader.peek() === undefined, 0));
    return math;
  } catch {
    const code = document.createElement("code");
    code.textContent = source.trim();
    return code;
  }
}

function make(tag, ...inside) {
  const node = document.createElementNS(MATHML, tag);
  node.append(...inside);
  return node;
}

function operator(text, attributes = {}) {
  const node = make("mo", text);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

class Reader {
  constructor(source, isBlock) {
    this.source = source;
    this.isBlock = isBlock;
    this.tokens = [...source.matchAll(TOKEN)];
    this.at = 0;
  }

  peek() {
    return this.tokens[this.at]?.[0];
  }

  take(wanted = null) {
    const token = this.tokens[this.at]?.[0];
    if (token === undefined || (wanted && token !== wanted)) throw new Error("unexpected");
    this.at += 1;
    return token;
  }

  row(isEnd, depth) {
    const row = make("mrow");
    while (!isEnd()) row.append(this.scripted(depth));
    return row;
  }

  // An atom with what stands below and above it.
  scripted(depth) {
    const token = this.peek();
    const isBig = BIG.has(token);
    const base = this.atom(depth);
    let below = null;
    let above = null;
    for (;;) {
      const mark = this.peek();
      if (mark === "_" && !below) below = this.after(depth);
      else if (mark === "^" && !above) above = this.after(depth);
      else if (mark === "'" && !above) above = this.primes();
      else break;
    }
    if (!below && !above) return base;
    const places = isBig && this.isBlock ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return make(places[2], base, below, above);
    return below ? make(places[0], base, below) : make(places[1], base, above);
  }

  after(depth) {
    this.take();
    return this.argument(depth + 1);
  }

  primes() {
    let count = 0;
    while (this.peek() === "'") {
      this.take();
      count += 1;
    }
    return make("mo", "′".repeat(count));
  }

  argument(depth) {
    return this.peek() === "{" ? this.group(depth) : this.atom(depth);
  }

  group(depth) {
    this.take("{");
    const row = this.row(() => this.peek() === "}", depth + 1);
    this.take("}");
    return row;
  }

  // The text between braces, as it was written.
  words() {
    this.take("{");
    const start = this.tokens[this.at - 1].index + 1;
    for (let open = 1; open; ) {
      const token = this.take();
      if (token === "{") open += 1;
      else if (token === "}") open -= 1;
    }
    return this.source.slice(start, this.tokens[this.at - 1].index);
  }

  atom(depth) {
    if (depth > MAX_DEPTH) throw new Error("too deep");
    const token = this.peek();
    if (token === "{") return this.group(depth + 1);
    this.take();
    if (token[0] === "\\") return this.command(token.slice(1), depth + 1);
    if (/\d/.test(token)) return make("mn", token);
    if (token.toLowerCase() !== token.toUpperCase()) return make("mi", token);
    if ("}_^&#%".includes(token)) throw new Error("unexpected");
    if (token === "-") return make("mo", "−");
    return token === "~" ? make("mtext", "\u00a0") : operator(token, "()[]|".includes(token) ? { stretchy: "false" } : {});
  }

  command(name, depth) {
    if (Object.hasOwn(GREEK, name)) return make("mi", GREEK[name]);
    if (Object.hasOwn(SYMBOLS, name)) return make("mo", SYMBOLS[name]);
    if (FUNCTIONS.has(name)) return make("mi", name);
    if (Object.hasOwn(SPACES, name)) return this.space(SPACES[name]);
    if (Object.hasOwn(ACCENTS, name)) return this.accent(name, depth);
    if (Object.hasOwn(ALPHABETS, name)) return this.letters(ALPHABETS[name]);
    switch (name) {
      case "frac": case "dfrac": case "tfrac": case "cfrac":
        return make("mfrac", this.argument(depth), this.argument(depth));
      case "binom":
        return this.binomial(depth);
      case "sqrt":
        return this.root(depth);
      case "text": case "textrm": case "textbf": case "textit": case "mbox":
        return make("mtext", this.words());
      case "operatorname": case "mathrm": case "mathsf": case "mathtt":
        return make("mi", this.words().trim());
      case "left":
        return this.fenced(depth);
      case "begin":
        return this.table(depth);
      case "displaystyle": case "textstyle": case "limits": case "nolimits": case "big": case "Big":
      case "bigg": case "Bigg": case "bigl": case "bigr": case "Bigl": case "Bigr":
        return make("mrow");
      case "\\":
        return make("mspace");
      default:
        if ("{}$%#&_|".includes(name)) return operator(name === "|" ? "‖" : name, { stretchy: "false" });
        throw new Error("unknown");
    }
  }

  space(width) {
    const node = make("mspace");
    node.setAttribute("width", width);
    return node;
  }

  accent(name, depth) {
    const [mark, isBelow] = ACCENTS[name];
    return make(isBelow ? "munder" : "mover", this.argument(depth), operator(mark, { stretchy: String(name.length > 5) }));
  }

  letters({ upper, lower, odd }) {
    const text = this.peek() === "{" ? this.words() : this.take();
    const styled = [...text.trim()].map((letter) => {
      if (odd?.[letter]) return odd[letter];
      if (/[A-Z]/.test(letter) && upper) return String.fromCodePoint(upper + letter.charCodeAt(0) - 65);
      if (/[a-z]/.test(letter) && lower) return String.fromCodePoint(lower + letter.charCodeAt(0) - 97);
      return letter;
    });
    return make("mi", styled.join(""));
  }

  binomial(depth) {
    const inside = make("mfrac", this.argument(depth), this.argument(depth));
    inside.setAttribute("linethickness", "0");
    return make("mrow", make("mo", "("), inside, make("mo", ")"));
  }

  root(depth) {
    if (this.peek() !== "[") return make("msqrt", this.argument(depth));
    this.take("[");
    const degree = this.row(() => this.peek() === "]", depth);
    this.take("]");
    return make("mroot", this.argument(depth), degree);
  }

  fence() {
    const token = this.take();
    if (token === ".") return "";
    if (token === "\\|") return "‖";
    return token[0] === "\\" ? (SYMBOLS[token.slice(1)] ?? token.slice(1)) : token;
  }

  fenced(depth) {
    const open = this.fence();
    const inside = this.row(() => this.peek() === "\\right", depth);
    this.take("\\right");
    return around(open, inside, this.fence());
  }

  table(depth) {
    const name = this.words().replace("*", "");
    if (name === "array") this.words();
    if (!Object.hasOwn(FENCED, name)) throw new Error("unknown");
    const isOver = () => ["&", "\\\\", "\\end"].includes(this.peek());
    const table = make("mtable");
    let row = make("mtr");
    for (;;) {
      row.append(make("mtd", this.row(isOver, depth)));
      const mark = this.take();
      if (mark === "&") continue;
      table.append(row);
      row = make("mtr");
      if (mark === "\\end") break;
    }
    if (this.words().replace("*", "") !== name) throw new Error("unexpected");
    // A line break before the end begins no row.
    if (table.lastChild.textContent === "") table.lastChild.remove();
    const [open, close] = FENCED[name];
    return around(open, table, close);
  }
}

function around(open, inside, close) {
  const row = make("mrow");
  if (open) row.append(operator(open, { stretchy: "true" }));
  row.append(inside);
  if (close) row.append(operator(close, { stretchy: "true" }));
  return row;
}
