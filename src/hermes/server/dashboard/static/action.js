// Buttons that give an order: they ask for its fields and for confirmation, and say how it went.

import { el } from "./dom.js";
import { detail } from "./detail.js";
import { fieldsOf, formFields } from "./form.js";
import { give, mayGive, order } from "./gateway.js";
import { t } from "./strings.js";
import { complain, say, wordsOf } from "./toast.js";

// Returns a button, or null for a role that may not give the order.
//
// `fixed` are fields that the page fills; `fields` names those that the dialog asks for (default: the
// required ones that are not fixed); `values` prefills them, and with `onlyChanged` only what is typed
// over is said; `secret` hides what is typed. `danger`
// colours it, `quick` needs no confirmation, `shows` shows the report, such as a token that is shown
// only once, `saves` saves it as a file of this name. `done` is called with the report.
export function actionButton(name, options = {}) {
  if (!mayGive(name)) return null;
  const label = options.label ?? t(`do.${name}`);
  const run = options.quick ? () => quickly(name, options) : () => openDialog(name, { ...options, label });
  return el(
    "button",
    { type: "button", class: options.danger ? "button danger" : "button", on: { click: run } },
    label,
  );
}

async function quickly(name, { fixed = {}, ...options }) {
  try {
    await finish(await give(name, fixed), options);
  } catch (error) {
    complain(error);
  }
}

async function finish(report, { done, shows, saves }) {
  if (saves) save(saves, "application/json", JSON.stringify(report, null, 2));
  else if (shows) showReport(report);
  else say(report?.note ? String(report.note) : t("done"));
  await done?.(report);
}

function openDialog(name, options) {
  const { fixed = {}, danger } = options;
  const asked = fieldsOf(order(name), { fixed, named: options.fields });
  const form = formFields(asked, options);
  const problem = el("p", { class: "problem", role: "alert" });
  const confirm = el("button", { type: "submit", class: danger ? "button danger" : "button main-button" }, options.label);
  const cancel = el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, t("cancel"));
  async function submit(event) {
    event.preventDefault();
    confirm.disabled = true;
    problem.textContent = "";
    try {
      const report = await give(name, { ...fixed, ...form.read() });
      dialog.close();
      await finish(report, options);
    } catch (error) {
      problem.textContent = wordsOf(error);
    }
    confirm.disabled = false;
  }
  const dialog = openModal(
    options.label,
    el(
      "form",
      { on: { submit } },
      el("p", {}, order(name).summary),
      Object.keys(fixed).length ? el("p", { class: "quiet" }, Object.values(fixed).map(String).join(" · ")) : null,
      form.nodes,
      problem,
      el("div", { class: "dialog-buttons" }, cancel, confirm),
    ),
  );
}

// Returns a button that gives an order for every picked row, one after the other; null for a role that
// may not. What fails stays, and is said.
export function bulkButton(name, { picked, fields, done }) {
  if (!mayGive(name)) return null;
  const label = t("bulk", { what: t(`do.${name}`) });
  function run() {
    if (!picked.size) return say(t("bulk.none"));
    return confirmBulk(name, { label, rows: [...picked], fields, done });
  }
  return el("button", { type: "button", class: "button", on: { click: run } }, label);
}

function confirmBulk(name, { label, rows, fields, done }) {
  const progress = el("p", { role: "status" }, t("bulk.count", { n: rows.length }));
  const problems = el("ul", { class: "problem" });
  async function submit(event) {
    event.preventDefault();
    confirm.disabled = true;
    for (const [index, row] of rows.entries()) {
      if (!dialog.isConnected) break;
      try {
        await give(name, fields(row));
      } catch (error) {
        problems.append(el("li", {}, wordsOf(error)));
      }
      progress.textContent = t("bulk.progress", { n: index + 1, all: rows.length });
    }
    await done?.();
    if (!problems.childElementCount) dialog.close();
  }
  const confirm = el("button", { type: "submit", class: "button main-button" }, label);
  const cancel = el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, t("close"));
  const buttons = el("div", { class: "dialog-buttons" }, cancel, confirm);
  const dialog = openModal(label, el("form", { on: { submit } }, el("p", {}, order(name).summary), progress, problems, buttons));
}

// Saves a text as a file of this browser.
export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Opens a dialog that is gone once it is closed; the browser keeps the focus in it and gives it back.
export function openModal(title, ...children) {
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-label": title, on: { close: () => dialog.remove() } },
    el("h2", {}, title),
    ...children,
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function showReport(report) {
  const close = el("button", { type: "button", class: "button main-button", on: { click: () => dialog.close() } }, t("close"));
  const dialog = openModal(t("result"), detail(report), el("div", { class: "dialog-buttons" }, close));
}
