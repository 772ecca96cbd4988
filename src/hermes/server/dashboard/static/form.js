// The fields of an order as controls of a form, from the catalogue.

import { el } from "./dom.js";
import { t } from "./strings.js";

let made = 0;

// Returns the fields that a form asks for: the named ones, or the required ones.
export function fieldsOf(row, { fixed = {}, named }) {
  if (named) return named.map((name) => row.fields.find((field) => field.name === name));
  return row.fields.filter((field) => field.required && !(field.name in fixed));
}

// Returns `nodes` to show and `read`, which returns what they say.
//
// With `onlyChanged` fields that still have the value that they began with are not said.
export function formFields(fields, { values = {}, secret = [], onlyChanged = false } = {}) {
  const controls = fields.map((field) => [field, controlOf(field, values[field.name], secret.includes(field.name))]);
  const before = controls.map(([, control]) => stateOf(control));
  return {
    nodes: controls.map(([field, control]) => labelled(field, control)),
    read: () => readAll(controls.filter(([, control], index) => !onlyChanged || stateOf(control) !== before[index])),
  };
}

const stateOf = (control) => (control.type === "checkbox" ? control.checked : control.value);

function readAll(controls) {
  const said = {};
  for (const [field, control] of controls) {
    const value = valueOf(field, control);
    if (value !== undefined) said[field.name] = value;
  }
  return said;
}

function controlOf(field, value, isSecret) {
  made += 1;
  const shared = { id: `field-${made}`, name: field.name, required: field.required === true && field.kind !== "boolean" };
  const start = value ?? field.default ?? null;
  if (field.kind === "boolean") return el("input", { ...shared, type: "checkbox", checked: Boolean(start) });
  if (field.kind === "choice") return selectOf(field, start, shared);
  const text = textOf(start);
  if (field.kind === "object" || field.kind === "array" || isLong(field, text)) {
    const area = el("textarea", { ...shared, rows: 5 });
    area.value = text;
    return area;
  }
  const isNumber = field.kind === "number" || field.kind === "integer";
  const type = isSecret ? "password" : isNumber ? "number" : "text";
  return el("input", {
    ...shared,
    type,
    step: isNumber ? (field.kind === "integer" ? 1 : "any") : null,
    autocomplete: "off",
    spellcheck: "false",
    value: text,
  });
}

const LONG = ["text", "prompt", "system_prompt", "system", "description", "archive"];

const isLong = (field, text) => LONG.includes(field.name) || text.includes("\n") || text.length > 80;

function textOf(value) {
  if (value === null) return "";
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join("\n");
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

function selectOf(field, start, shared) {
  const none = field.required ? [] : [""];
  const options = [...none, ...field.choices].map((one) =>
    el("option", { value: one, selected: one === start }, one || t("any")),
  );
  return el("select", shared, options);
}

function labelled(field, control) {
  const help = el("span", { class: "help", id: `${control.id}-help` }, field.help);
  if (field.help) control.setAttribute("aria-describedby", help.id);
  const label = el("label", { for: control.id }, field.name.replaceAll("_", " "));
  const isCheck = field.kind === "boolean";
  return el("div", { class: isCheck ? "field check" : "field" }, isCheck ? [control, label] : [label, control], field.help ? help : null);
}

// An optional field that nobody filled is not said.
function valueOf(field, control) {
  if (field.kind === "boolean") return control.checked;
  const text = control.value;
  if (text.trim() === "" && !field.required) return undefined;
  if (field.kind === "integer" || field.kind === "number") return Number(text);
  if (field.kind === "array" && !text.trim().startsWith("[")) {
    return text.split("\n").map((line) => line.trim()).filter(Boolean);
  }
  return field.kind === "object" || field.kind === "array" ? JSON.parse(text) : text;
}
