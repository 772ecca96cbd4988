// The files of messages in the transcript: pictures are shown, everything else is a link.

import { element } from "./element.js";
import { stick } from "./scroll.js";
import { say } from "./strings.js";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

const pathOf = (id, side, number) =>
  `/web/messages/${encodeURIComponent(id)}/files/${side}/${number}`;

export const isPicture = (mime) => PICTURES.has(mime);

export function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// `side` is "sent" or "reply"; a file that is elsewhere has its own `url`.
export function filesNode(id, side, files) {
  const list = element("ul", "files");
  list.setAttribute("aria-label", say("files.sent"));
  files.forEach((file, number) => {
    const item = element("li");
    const address = file.url ?? pathOf(id, side, number);
    item.append(isPicture(file.mime) && !file.url ? picture(file, address) : fileLink(file, address));
    list.append(item);
  });
  return list;
}

function picture(file, address) {
  const name = file.name || say("files.picture");
  const link = linkTo(address, "picture");
  link.setAttribute("aria-label", say("files.open", { name }));
  const image = element("img");
  image.alt = name;
  image.addEventListener("load", stick);
  image.addEventListener("error", () => link.replaceWith(element("span", "gone", say("files.gone", { name }))));
  image.src = address;
  link.append(image);
  return link;
}

function fileLink(file, address) {
  const name = file.name || say("files.file");
  const link = linkTo(address, "file");
  link.setAttribute("aria-label", say("files.save", { name }));
  link.append(element("span", "file-name", name));
  if (file.size !== null) link.append(element("span", "file-size", sizeText(file.size)));
  return link;
}

function linkTo(address, className) {
  const link = element("a", className);
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
}

// The files of a message of before, to send them again.
export async function fetchFiles(id, files) {
  const bring = async ({ name, mime }, number) => {
    const answer = await fetch(pathOf(id, "sent", number), { cache: "no-store" });
    if (!answer.ok) throw new Error(say("files.gone", { name: name || say("files.file") }));
    return new File([await answer.blob()], name || "file", { type: mime });
  };
  return Promise.all(files.map(bring));
}
