// Charts as SVG, drawn from data; every chart has its numbers as a table, too.

import { el, svg } from "./dom.js";
import { tick } from "./format.js";
import { t } from "./strings.js";

const WIDE = 640;
const HIGH = 180;
const LEFT = 56;
const BOTTOM = 22;
const TICKS = 4;

// Lines over time: `times` in seconds, each series with `name` and one value (or null) for each time.
// The scale goes up to `least` at least.
export function lineChart(title, { times, series, format, least = 0 }) {
  const top = niceTop(Math.max(least, ...series.flatMap(({ values }) => values.filter((one) => one !== null))));
  const first = times[0] ?? 0;
  const last = times.at(-1) ?? 1;
  const x = (at) => LEFT + ((at - first) / Math.max(1, last - first)) * (WIDE - LEFT - 8);
  const y = (value) => 8 + (1 - value / top) * (HIGH - BOTTOM - 8);
  const lines = series.map(({ values }, index) =>
    pieces(times, values).map((points) => lineOf(points, { x, y, name: `line series-${index}` })),
  );
  const isLong = last - first > 90000;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title, class: "chart" },
    grid(top, y, format),
    axis(times, x, isLong),
    lines,
  );
  const head = [t("chart.time"), ...series.map(({ name }) => name)];
  const rows = times.map((at, index) => [tick(at, isLong), ...series.map(({ values }) => shown(values[index], format))]);
  return figure(title, legend(series), picture, head, rows);
}

// One bar for each row of {label, value}.
export function barChart(title, { rows, format }) {
  const most = Math.max(0, ...rows.map(({ value }) => value ?? 0)) || 1;
  const bars = rows.map(({ label, value }) =>
    el(
      "li",
      {},
      el("span", { class: "bar-label" }, label),
      el("progress", { max: most, value: value ?? 0, "aria-label": label }),
      el("span", { class: "bar-value" }, shown(value, format)),
    ),
  );
  return el("figure", { class: "bars" }, el("figcaption", {}, title), el("ul", {}, bars));
}

// Nothing is drawn over a gap: a value that is not there is not zero.
function pieces(times, values) {
  const found = [];
  let piece = [];
  for (const [index, value] of values.entries()) {
    if (value === null) {
      if (piece.length) found.push(piece);
      piece = [];
    } else piece.push([times[index], value]);
  }
  if (piece.length) found.push(piece);
  return found;
}

function lineOf(points, { x, y, name }) {
  const [[at, value]] = points;
  if (points.length === 1) return svg("circle", { class: name, cx: x(at), cy: y(value), r: 2 });
  return svg("polyline", {
    class: name,
    points: points.map(([when, what]) => `${x(when).toFixed(1)},${y(what).toFixed(1)}`).join(" "),
  });
}

const shown = (value, format) => (value === null || value === undefined ? "–" : format(value));

function niceTop(most) {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 8, 10].map((step) => step * power).find((step) => step >= most);
}

function grid(top, y, format) {
  const values = Array.from({ length: TICKS + 1 }, (_, index) => (top * index) / TICKS);
  return values.map((value) =>
    svg(
      "g",
      { class: "grid" },
      svg("line", { x1: LEFT, x2: WIDE, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)),
    ),
  );
}

function axis(times, x, isLong) {
  const step = Math.max(1, Math.ceil(times.length / 6));
  return times
    .filter((_, index) => index % step === 0)
    .map((at) => svg("text", { class: "axis", x: x(at), y: HIGH - 4, "text-anchor": "start" }, tick(at, isLong)));
}

function legend(series) {
  if (series.length < 2) return null;
  return el(
    "ul",
    { class: "legend" },
    series.map(({ name }, index) => el("li", { class: `series-${index}` }, name)),
  );
}

function figure(title, words, picture, head, rows) {
  const heads = el("tr", {}, head.map((one) => el("th", { scope: "col" }, one)));
  const numbers = el(
    "details",
    {},
    el("summary", {}, t("chart.numbers")),
    el("div", { class: "table", role: "region", tabindex: 0, "aria-label": title }, el(
      "table",
      {},
      el("thead", {}, heads),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((one) => el("td", {}, one))))),
    )),
  );
  return el("figure", {}, el("figcaption", {}, title), words, picture, numbers);
}
