// The files of the message that is being written: added by button, by pasting and by dropping.

import { element } from "./element.js";
import { isPicture, sizeText } from "./files.js";
import { announce, find } from "./page.js";
import { say } from "./strings.js";

const THUMB = 88;
let limits = { most: 10, bytes: 20000000 };
let chosen = [];
let changed = () => {};

export function setUpFiles(onChange) {
  changed = onChange;
  find("add-files").ariaLabel = find("add-files").title = say("files.add");
  find("drop").textContent = say("files.drop");
  find("add-files").addEventListener("click", () => find("file-input").click());
  find("file-input").addEventListener("change", () => {
    add([...find("file-input").files]);
    find("file-input").value = "";
  });
  find("text").addEventListener("paste", onPaste);
  for (const name of ["dragenter", "dragover"]) find("main").addEventListener(name, onDrag);
  find("main").addEventListener("dragleave", onDragLeave);
  find("main").addEventListener("drop", onDrop);
}

export function limitFiles(info) {
  limits = info ?? limits;
  find("add-files").hidden = info === null;
}

export const hasFiles = () => chosen.length > 0;

export function takeFiles() {
  const taken = chosen;
  putFiles([]);
  return taken;
}

export function putFiles(files) {
  chosen = files;
  tell("");
  draw();
}

function onPaste(event) {
  const files = [...(event.clipboardData?.files ?? [])];
  // A program may put a picture of the text beside it.
  if (!files.length || event.clipboardData.getData("text/plain")) return;
  event.preventDefault();
  add(files);
}

const bringsFiles = (event) => event.dataTransfer?.types.includes("Files");

function onDrag(event) {
  if (!bringsFiles(event)) return;
  event.preventDefault();
  find("drop").hidden = false;
}

function onDragLeave(event) {
  if (!find("main").contains(event.relatedTarget)) find("drop").hidden = true;
}

function onDrop(event) {
  find("drop").hidden = true;
  if (!bringsFiles(event)) return;
  event.preventDefault();
  add([...event.dataTransfer.files]);
  find("text").focus();
}

function add(files) {
  tell("");
  for (const file of files) {
    const name = file.name || say("files.file");
    if (!file.size) tell(say("files.empty", { name }));
    else if (file.size > limits.bytes) {
      tell(say("files.too_large", { name, most: sizeText(limits.bytes) }));
    } else if (chosen.length >= limits.most) tell(say("files.too_many", { most: limits.most }));
    else chosen.push(file);
  }
  draw();
  find("text").focus();
}

function tell(problem) {
  find("file-problem").textContent = problem;
  if (problem) announce(problem);
}

function draw() {
  find("chosen").replaceChildren(...chosen.map(chip));
  find("chosen").hidden = !chosen.length;
  changed();
}

function chip(file) {
  const name = file.name || say("files.file");
  const node = element("li", "chip-file");
  if (isPicture(file.type)) node.append(thumbnail(file));
  node.append(element("span", "file-name", name), element("span", "file-size", sizeText(file.size)));
  const remove = element("button", "remove", "×");
  remove.type = "button";
  remove.setAttribute("aria-label", say("files.remove", { name }));
  remove.addEventListener("click", () => {
    putFiles(chosen.filter((other) => other !== file));
    find("text").focus();
  });
  node.append(remove);
  return node;
}

// Drawn by the page itself: the policy lets no picture in by another way.
function thumbnail(file) {
  const canvas = element("canvas", "thumb");
  canvas.width = canvas.height = THUMB;
  createImageBitmap(file, { resizeHeight: THUMB, resizeQuality: "medium" }).then(
    (bitmap) => {
      const place = Math.round((THUMB - bitmap.width) / 2);
      canvas.getContext("2d").drawImage(bitmap, place, 0);
      bitmap.close();
    },
    () => canvas.remove(),
  );
  return canvas;
}
