// A conversation as a graph in SVG: a column for each branch, a box for each message, and beside them
// the versions that an edit replaced and the chats of subagents.

import { el, svg } from "./dom.js";
import { t } from "./strings.js";

const BOX = 250;
const GAP = 60;
const HIGH = 34;
const STEP = 52;
const LEFT = 16;
const TOP = 40;
const LETTERS = 34;
const MOST_BESIDE = 2;

// Takes the `drawing` of a report of `sessions.graph`.
export function drawGraph(title, drawing) {
  const columns = drawing.branches.map((branch, index) => columnOf(branch, index));
  const byName = new Map(columns.map((column) => [column.branch.branch, column]));
  const first = Math.min(...columns.map(({ from }) => from));
  const last = Math.max(...columns.map(({ to }) => to));
  const y = (index) => TOP + (index - first) * STEP;
  const wide = LEFT + columns.length * (BOX + GAP) + 120;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${TOP + (last - first + 1) * STEP}`, width: wide, role: "img", "aria-label": title, class: "chart graph" },
    columns.map((column) => roots(column, byName.get(column.branch.parent), y)),
    columns.map((column) => messages(column, y)),
  );
  return el("figure", {}, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, picture));
}

function columnOf(branch, index) {
  const lines = branch.lines ?? [];
  const from = lines[0]?.index ?? branch.begins ?? 0;
  return { branch, lines, from, to: lines.at(-1)?.index ?? from, x: LEFT + index * (BOX + GAP) };
}

// The name of a branch, and a line from the message after which it begins.
function roots({ branch, lines, from, x }, parent, y) {
  const name = svg("text", { class: "branch-name", x, y: y(from) - 12 }, short(branch.branch));
  if (!parent || !lines.length) return name;
  const begins = Math.max(parent.from, (branch.begins ?? 0) - 1);
  const start = `M ${parent.x + BOX} ${y(begins) + HIGH / 2}`;
  const path = svg("path", { class: "fork", d: `${start} C ${x - 20} ${y(begins) + HIGH / 2}, ${x - 30} ${y(from) + HIGH / 2}, ${x} ${y(from) + HIGH / 2}` });
  return svg("g", {}, path, name);
}

function messages({ branch, lines, x }, y) {
  const left = branch.left_out ? svg("text", { class: "older", x: x + 120, y: y(lines[0]?.index ?? 0) - 12 }, t("graph.older", { n: branch.left_out })) : null;
  const boxes = lines.map((line, place) =>
    svg(
      "g",
      {},
      place ? svg("line", { class: "edge", x1: x + 20, x2: x + 20, y1: y(line.index) - (STEP - HIGH), y2: y(line.index) }) : null,
      box(line, { x, y: y(line.index), kind: line.summary ? "summary" : line.role }),
      beside(line, x, y(line.index)),
    ),
  );
  const gone = (branch.gone ?? []).slice(-1).map((one) => former(one, x, y(lines.at(-1)?.index ?? 0) + HIGH));
  return svg("g", {}, left, boxes, gone);
}

function box(line, { x, y, kind }) {
  const words = svg(
    "g",
    { class: `node role-${kind}` },
    svg("title", {}, [line.role, line.by?.model, line.text].filter(Boolean).join("\n")),
    svg("rect", { x, y, width: BOX, height: HIGH, rx: 6 }),
    svg("text", { x: x + 8, y: y + 14 }, short(line.text ?? "")),
    svg("text", { class: "by", x: x + 8, y: y + 28 }, short([line.role, line.by?.model].filter(Boolean).join(" · "))),
  );
  if (!line.by?.call) return words;
  return svg("a", { href: `/dashboard/message/${encodeURIComponent(line.by.call.split(".")[0])}` }, words);
}

function beside(line, x, y) {
  const before = [...(line.was ?? []), ...(line.gone ?? [])].slice(-MOST_BESIDE);
  const formers = before.map((one, index) => former(one, x, y - 4 + index * 12));
  const children = (line.children ?? []).slice(0, MOST_BESIDE).map((child, index) =>
    svg(
      "g",
      { class: "child" },
      svg("title", {}, child.graph),
      svg("rect", { x: x + BOX + 6, y: y + 8 + index * 14, width: 10, height: 10 }),
    ),
  );
  return svg("g", {}, formers, children);
}

const former = (one, x, y) =>
  svg(
    "g",
    { class: "former" },
    svg("title", {}, t("graph.former", { edit: one.edit, actor: one.actor || "?", text: one.text })),
    svg("rect", { x: x + BOX - 30, y: y - 4, width: 28, height: 10, rx: 3 }),
  );

const short = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);
