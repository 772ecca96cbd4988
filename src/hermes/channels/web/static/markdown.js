// Markdown to DOM nodes. Nothing here ever parses HTML: every character of a reply ends up in a
// text node, so markup in it stays text. Blocks that did not change keep their nodes, which
// makes streaming cheap and keeps a selection alive.

import { copyText } from "./clipboard.js";
import { appendCode } from "./highlight.js";
import { appendInline } from "./inline.js";
import { mathNode } from "./math.js";
import { say } from "./strings.js";

const MAX_DEPTH = 8;
// A few characters make a table cell, and a page with very many cells stops responding.
const MAX_COLUMNS = 64;
const MAX_CELLS = 5000;
// A longer reply is shown as plain text: parsing its marks could block the page for seconds.
const MAX_STYLED = 1048576;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/s;
const RULE = /^ {0,3}(?:-\s*-\s*-[\s-]*|\*\s*\*\s*\*[\s*]*|_\s*_\s*_[\s_]*)$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/s;
const TASK = /^\[([ xX])\]\s+/;
const FOOTNOTE = /^ {0,3}\[\^([\w-]{1,40})\]:\s?/;
// The marks of formulas that are blocks of their own, and how many lines one may have.
const MATH_MARKS = [["$$", "$$"], ["\\[", "\\]"]];
const MAX_MATH_LINES = 60;
const RULED_CELL = /^:?-+:?$/;

export function renderInto(container, text) {
  const blocks = text.length > MAX_STYLED ? [asItIs(text)] : splitBlocks(text);
  const old = container.blocks ?? [];
  let same = 0;
  while (same < blocks.length && same < old.length && old[same].source === blocks[same].source) {
    same += 1;
  }
  while (container.childNodes.length > same) container.lastChild.remove();
  for (const block of blocks.slice(same)) container.append(renderBlock(block, 0));
  container.blocks = blocks;
}

export function plainText(text) {
  const holder = document.createElement("div");
  renderInto(holder, text);
  return [...holder.childNodes].map((node) => node.textContent).join("\n");
}

function asItIs(text) {
  return { kind: "plain", lines: [text], source: text };
}

function splitBlocks(text) {
  const lines = text.split(/\r\n?|[\n\u2028\u2029]/);
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const kind = kindOf(lines, at);
    const end = endOf(kind, lines, at);
    const own = lines.slice(at, end);
    blocks.push({ kind, lines: own, source: `${kind}\n${own.join("\n")}` });
    at = end;
  }
  return blocks;
}

function kindOf(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return "code";
  if (HEADING.test(line)) return "heading";
  if (RULE.test(line)) return "rule";
  if (QUOTE.test(line)) return "quote";
  if (ITEM.test(line)) return "list";
  if (FOOTNOTE.test(line)) return "footnote";
  if (endOfMath(lines, at)) return "math";
  if (line.includes("|") && at + 1 < lines.length && isTableRule(lines[at + 1])) return "table";
  return "paragraph";
}

// Returns where a formula that begins at a line ends; 0 if none does, or its end has not come yet.
function endOfMath(lines, at) {
  const begun = lines[at].trim();
  const [open, close] = MATH_MARKS.find(([mark]) => begun.startsWith(mark)) ?? [];
  if (!open) return 0;
  const last = Math.min(lines.length, at + MAX_MATH_LINES);
  for (let number = at; number < last; number += 1) {
    const line = number === at ? begun.slice(open.length) : lines[number].trim();
    if (line.endsWith(close)) return number + 1;
    // What follows in the same line belongs to a paragraph.
    if (line.includes(close) || (number > at && line === "")) return 0;
  }
  return 0;
}

function isTableRule(line) {
  if (!line.includes("-") || !line.includes("|")) return false;
  const inner = withoutEnd(line.replace(/^ {0,3}\|/, "").trimEnd(), "|", 1);
  return inner.split("|").every((cell) => RULED_CELL.test(cell.trim()));
}

function endOf(kind, lines, start) {
  let at = start + 1;
  if (kind === "heading" || kind === "rule") return at;
  if (kind === "code") {
    const fence = FENCE.exec(lines[start])[1];
    while (at < lines.length && !closesFence(lines[at], fence)) at += 1;
    return Math.min(at + 1, lines.length);
  }
  if (kind === "list") return endOfList(lines, at);
  if (kind === "math") return endOfMath(lines, start);
  while (at < lines.length && lines[at].trim() !== "") {
    if (kind === "quote" && !QUOTE.test(lines[at])) break;
    if (kind === "table" && !lines[at].includes("|") && at > start + 1) break;
    const isText = kind === "paragraph" || kind === "footnote";
    if (isText && kindOf(lines, at) !== "paragraph") break;
    at += 1;
  }
  return at;
}

function closesFence(line, fence) {
  const mark = line.trim();
  return mark.length >= fence.length && mark === fence[0].repeat(mark.length);
}

function endOfList(lines, start) {
  const first = ITEM.exec(lines[start - 1]);
  let at = start;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (item && item[1].length <= first[1].length + 1 && isNumbered(item) !== isNumbered(first)) break;
    if (lines[at].trim() === "") {
      const next = lines[at + 1] ?? "";
      if (!ITEM.test(next) && !/^\s{2,}\S/.test(next)) break;
    } else if (!item && !/^\s{2,}/.test(lines[at])) {
      if (kindOf(lines, at) !== "paragraph" || lines[at - 1].trim() === "") break;
    }
    at += 1;
  }
  return at;
}

function isNumbered(item) {
  return /\d/.test(item[2]);
}

function renderBlock(block, depth) {
  if (depth > MAX_DEPTH) return paragraph(block.lines);
  switch (block.kind) {
    case "code":
      return code(block.lines);
    case "heading":
      return heading(block.lines[0]);
    case "rule":
      return document.createElement("hr");
    case "quote":
      return quote(block.lines, depth);
    case "list":
      return list(block.lines, depth);
    case "table":
      return table(block.lines);
    case "math":
      return formula(block.lines);
    case "footnote":
      return footnote(block.lines);
    case "plain":
      return plain(block.lines[0]);
    default:
      return paragraph(block.lines);
  }
}

function plain(text) {
  const node = document.createElement("p");
  node.className = "plain";
  node.textContent = text;
  return node;
}

function paragraph(lines) {
  const node = document.createElement("p");
  lines.forEach((line, index) => {
    if (index > 0) node.append(document.createElement("br"));
    appendInline(node, line.trim());
  });
  return node;
}

function heading(line) {
  const [, marks, rest] = HEADING.exec(line);
  const text = withoutEnd(rest.trim(), "#").trimEnd();
  const node = document.createElement(`h${marks.length}`);
  appendInline(node, text);
  return node;
}

function withoutEnd(text, mark, most = text.length) {
  let end = text.length;
  while (end > 0 && text.length - end < most && text[end - 1] === mark) end -= 1;
  return text.slice(0, end);
}

function quote(lines, depth) {
  const node = document.createElement("blockquote");
  const inner = lines.map((line) => line.replace(QUOTE, "")).join("\n");
  for (const block of splitBlocks(inner)) node.append(renderBlock(block, depth + 1));
  return node;
}

function code(lines) {
  const [, fence, language] = FENCE.exec(lines[0]);
  const last = lines.length > 1 && closesFence(lines[lines.length - 1], fence);
  const text = lines.slice(1, last ? -1 : undefined).join("\n");
  const node = document.createElement("div");
  node.className = "code";
  const head = document.createElement("div");
  head.className = "code-head";
  const name = document.createElement("span");
  name.textContent = language || "text";
  const copy = document.createElement("button");
  copy.type = "button";
  copy.textContent = say("copy.short");
  copy.setAttribute("aria-label", say("copy.code"));
  copy.addEventListener("click", () => copyText(text, copy));
  head.append(name, copy);
  const pre = document.createElement("pre");
  pre.tabIndex = 0;
  const inner = document.createElement("code");
  appendCode(inner, text, language);
  pre.append(inner);
  node.append(head, pre);
  return node;
}

function formula(lines) {
  const source = lines.join("\n").trim();
  const node = document.createElement("div");
  node.className = "math";
  node.tabIndex = 0;
  node.append(mathNode(source.slice(2, -2), { isBlock: true }));
  return node;
}

function footnote([first, ...rest]) {
  const [mark, name] = FOOTNOTE.exec(first);
  const node = paragraph([first.slice(mark.length), ...rest]);
  const number = document.createElement("sup");
  number.textContent = name;
  node.className = "footnote";
  node.prepend(number, " ");
  return node;
}

function list(lines, depth) {
  const first = ITEM.exec(lines[0]);
  const [, indent, mark] = first;
  const node = document.createElement(isNumbered(first) ? "ol" : "ul");
  if (node.tagName === "OL" && Number.parseInt(mark, 10) !== 1) {
    node.start = Number.parseInt(mark, 10);
  }
  for (const item of splitItems(lines, indent.length)) node.append(listItem(item, depth));
  return node;
}

function splitItems(lines, indent) {
  const items = [];
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (match && (match[1].length <= indent + 1 || items.length === 0)) items.push([match[3]]);
    else items[items.length - 1].push(line);
  }
  return items;
}

function listItem(lines, depth) {
  const node = document.createElement("li");
  const rest = lines.slice(1);
  const shift = narrowest(rest);
  const task = TASK.exec(lines[0]);
  if (task) {
    node.className = "task";
    node.append(checkbox(task[1] !== " "));
  }
  const first = task ? lines[0].slice(task[0].length) : lines[0];
  const inner = [first, ...rest.map((line) => line.slice(shift))].join("\n");
  const blocks = splitBlocks(inner);
  blocks.forEach((block, index) => {
    const child = renderBlock(block, depth + 1);
    if (index === 0 && block.kind === "paragraph") {
      for (const inside of [...child.childNodes]) node.append(inside);
    } else node.append(child);
  });
  return node;
}

function checkbox(isDone) {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = isDone;
  box.disabled = true;
  box.setAttribute("aria-label", say(isDone ? "task.done" : "task.open"));
  return box;
}

// Returns the smallest indentation; Math.min cannot take all widths as arguments at once.
function narrowest(lines) {
  let least = Infinity;
  for (const line of lines) {
    if (line.trim()) least = Math.min(least, line.search(/\S/));
  }
  return Number.isFinite(least) ? least : 0;
}

function table(lines) {
  const sides = cells(lines[1]).map(sideOf);
  if (sides.length > MAX_COLUMNS) return paragraph(lines);
  const holder = document.createElement("div");
  holder.className = "table";
  holder.tabIndex = 0;
  const node = document.createElement("table");
  const head = document.createElement("thead");
  head.append(tableRow(lines[0], "th", sides));
  const body = document.createElement("tbody");
  let at = 2;
  for (let room = MAX_CELLS; at < lines.length && room > 0; at += 1) {
    const row = tableRow(lines[at], "td", sides);
    room -= row.childNodes.length;
    body.append(row);
  }
  node.append(head, body);
  holder.append(node);
  if (at < lines.length) holder.append(paragraph(lines.slice(at)));
  return holder;
}

function tableRow(line, tag, sides) {
  const row = document.createElement("tr");
  cells(line)
    .slice(0, sides.length)
    .forEach((text, index) => {
      const cell = document.createElement(tag);
      if (sides[index]) cell.className = sides[index];
      appendInline(cell, text);
      row.append(cell);
    });
  return row;
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}

function sideOf(cell) {
  if (cell.startsWith(":") && cell.endsWith(":")) return "center";
  return cell.endsWith(":") ? "right" : "";
}
