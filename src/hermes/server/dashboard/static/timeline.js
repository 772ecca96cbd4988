// The timeline of a message as SVG: one row for each thing that happened, on one axis of time.

import { el, svg } from "./dom.js";
import { duration, money } from "./format.js";
import { t } from "./strings.js";
import { table } from "./table.js";

const WIDE = 860;
const LABELS = 230;
const RIGHT = 130;
const ROW = 22;
const TOP = 26;
const LEAST = 3;
const MOST_ROWS = 200;
const LETTERS = 34;
// Of the time in which something ran, a wait without anything running takes at most this share.
const IDLE_SHARE = 0.15;

// Takes the lines of a report of `messages.why`.
export function timeline(title, lines) {
  const shown = lines.slice(0, MOST_ROWS);
  const axis = axisOf(shown);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TOP + shown.length * ROW + 6}`, role: "img", "aria-label": title, class: "chart timeline" },
    breaks(axis, shown.length),
    shown.map((line, index) => rowOf(line, index, axis)),
  );
  const more = lines.length > shown.length ? el("p", { class: "quiet" }, t("timeline.more", { n: lines.length - shown.length })) : null;
  return el("figure", { class: "timeline-figure" }, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, picture), legend(shown), more);
}

const COLUMNS = [
  ["after", "duration", (line) => line.after_s],
  ["what", "code"],
  ["lasted", "duration", (line) => line.lasted_s],
  ["cost", "text", (line) => cost(line)],
  ["details", "text", (line) => details(line.data)],
];

export const lineTable = (title, lines) => table(title, COLUMNS, lines);

function details(data = {}) {
  return Object.entries(data)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${value !== null && typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" · ");
}

function cost(line) {
  const { cost_usd: known = 0, unpriced = 0 } = line.usage ?? {};
  if (!line.usage || (!known && !unpriced)) return "";
  return unpriced && !known ? t("unknown") : money(known);
}

const endOf = (line) => line.after_s + (line.lasted_s ?? 0);

// Maps seconds to places; long waits in which nothing ran are drawn short, and marked.
function axisOf(lines) {
  const times = [...new Set(lines.flatMap((line) => [line.after_s, endOf(line)]))].sort((a, b) => a - b);
  const spans = times.slice(1).map((stop, index) => {
    const start = times[index];
    const runs = lines.some((line) => line.lasted_s && line.after_s <= start && endOf(line) >= stop);
    return { start, stop, runs, weight: stop - start };
  });
  const busy = spans.reduce((sum, one) => sum + (one.runs ? one.weight : 0), 0);
  for (const one of spans) if (!one.runs && busy > 0) one.weight = Math.min(one.weight, busy * IDLE_SHARE);
  const whole = spans.reduce((sum, one) => sum + one.weight, 0) || 1;
  const room = WIDE - LABELS - RIGHT;
  let at = LABELS;
  for (const one of spans) {
    one.x = at;
    one.width = (one.weight / whole) * room;
    at += one.width;
  }
  function x(second) {
    const found = spans.find((one) => second <= one.stop) ?? spans.at(-1);
    if (!found) return LABELS;
    const length = found.stop - found.start || 1;
    return found.x + ((Math.max(second, found.start) - found.start) / length) * found.width;
  }
  return { x, cut: spans.filter((one) => one.weight < one.stop - one.start) };
}

const breaks = ({ cut }, rows) =>
  cut.map((one) =>
    svg(
      "g",
      { class: "break" },
      svg("rect", { x: one.x, y: TOP - 4, width: Math.max(1, one.width), height: rows * ROW }),
      svg("text", { x: one.x + one.width / 2, y: 14, "text-anchor": "middle" }, duration(one.stop - one.start)),
    ),
  );

function rowOf(line, index, { x }) {
  const y = TOP + index * ROW;
  const start = x(line.after_s);
  const width = line.lasted_s ? Math.max(LEAST, x(endOf(line)) - start) : LEAST;
  const words = [line.lasted_s === undefined || line.lasted_s === null ? "" : duration(line.lasted_s), cost(line)].filter(Boolean).join(" · ");
  return svg(
    "g",
    { class: `event kind-${line.kind ?? "note"}` },
    svg("title", {}, `${line.what} · +${duration(line.after_s)} ${words}`),
    svg("text", { x: 0, y: y + 13 }, cut(line.what)),
    svg("rect", { x: start, y: y + 3, width, height: ROW - 8, rx: 2 }),
    svg("text", { class: "value", x: WIDE, y: y + 13, "text-anchor": "end" }, words),
  );
}

const cut = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

function legend(lines) {
  const kinds = [...new Set(lines.map((line) => line.kind ?? "note"))];
  return el("ul", { class: "legend kinds" }, kinds.map((kind) => el("li", { class: `kind-${kind}` }, t(`kind.${kind}`))));
}
