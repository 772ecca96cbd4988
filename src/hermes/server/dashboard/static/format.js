// Writes times, amounts of money, numbers and sizes. Every format takes a value of JSON and returns
// a text or an element.

import { el } from "./dom.js";
import { t } from "./strings.js";

const STEPS = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const whole = new Intl.NumberFormat();
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

// An order reports times as seconds since 1970.
export function when(seconds) {
  if (!seconds) return t("none");
  const at = new Date(seconds * 1000);
  const away = seconds - Date.now() / 1000;
  const [unit, size] = STEPS.find(([, length]) => Math.abs(away) >= length) ?? STEPS.at(-1);
  const text = relative.format(Math.round(away / size), unit);
  return el("time", { datetime: at.toISOString(), title: full.format(at) }, text);
}

export const exactly = (seconds) => (seconds ? full.format(new Date(seconds * 1000)) : t("none"));

export const tick = (seconds, isLong) => (isLong ? date : clock).format(new Date(seconds * 1000));

// A price that nobody knows is not free.
export function money(dollars) {
  if (dollars === null || dollars === undefined) return t("unknown");
  const digits = dollars !== 0 && Math.abs(dollars) < 0.1 ? 6 : 2;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: digits,
  }).format(dollars);
}

export const count = (number) => (number === null || number === undefined ? t("none") : whole.format(number));

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return t("none");
  if (seconds < 1) return t("unit.ms", { n: Math.round(seconds * 1000) });
  if (seconds < 60) return t("unit.s", { n: seconds.toFixed(1) });
  const [unit, size] = STEPS.find(([, length]) => seconds >= length && length < 2592000);
  return t(`unit.${unit}`, { n: whole.format(Math.round((seconds / size) * 10) / 10) });
}

export function size(bytes) {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let left = bytes ?? 0;
  while (left >= 1000 && names.length > 1) {
    left /= 1000;
    names.shift();
  }
  return `${left < 10 && names[0] !== "B" ? left.toFixed(1) : Math.round(left)} ${names[0]}`;
}

export const yes = (value) => (value ? t("yes") : t("no"));

const TONES = {
  good: ["connected", "active", "owner", "ok", "done", "ready", "on", "answers", "sent", "paired", "info"],
  bad: ["fatal", "failed", "blocked", "dead", "error", "unknown", "stopped", "refused", "disconnected", "deaf", "fail", "critical"],
};

// A word that says a state, coloured by whether it is a good one.
export function state(word) {
  if (word === null || word === undefined || word === "") return t("none");
  const tone = Object.keys(TONES).find((one) => TONES[one].includes(String(word))) ?? "plain";
  return el("span", { class: `state ${tone}` }, String(word));
}

export function list(values) {
  return values?.length ? values.map(text).join(", ") : t("none");
}

export function text(value) {
  if (value === null || value === undefined || value === "") return t("none");
  if (typeof value === "boolean") return yes(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const code = (value) => (value ? el("code", {}, String(value)) : t("none"));

export const FORMATS = { when, money, count, duration, size, yes, state, list, text, code };
