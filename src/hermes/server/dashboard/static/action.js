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
// required ones that are not fixed); `values` prefills them; `secret` hides what is typed. `danger`
// colours it, `quick` needs no confirmation, `shows` shows the report, such as a token that is shown
// only once. `done` is called with the report.
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

async function quickly(name, { fixed = {}, done }) {
  try {
    await finish(await give(name, fixed), { done });
  } catch (error) {
    complain(error);
  }
}

async function finish(report, { done, shows }) {
  if (shows) showReport(report);
  else say(report?.note ? String(report.note) : t("done"));
  await done?.(report);
}

function openDialog(name, options) {
  const { fixed = {}, values = {}, secret = [], danger } = options;
  const asked = fieldsOf(order(name), { fixed, named: options.fields });
  const form = formFields(asked, { values, secret });
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
