// Small drawings for buttons, made as nodes: the page never parses markup.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  copy: "M7 7V4.5h8.5V13H13M4.5 7H13v8.5H4.5z",
  done: "m4.5 10.5 3.7 3.7 7.3-8",
  edit: "m4.5 15.5.8-3.4 7.6-7.6a1.6 1.6 0 0 1 2.4 0 1.6 1.6 0 0 1 0 2.4l-7.5 7.7z",
  again: "M15.5 5v3.5H12M15.2 8.4A5.7 5.7 0 1 0 15.7 11",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  back: "M12 5.5 7.5 10l4.5 4.5",
  forward: "m8 5.5 4.5 4.5L8 14.5",
  continue: "M5 5v4a2 2 0 0 0 2 2h8m-3.5-3.5L15 11l-3.5 3.5",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.dataset.name = name;
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

// A button that shows only a drawing; its label is its name, and its title for the mouse.
export function iconButton(name, label, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tool-button";
  button.title = label;
  button.setAttribute("aria-label", label);
  button.append(icon(name));
  button.addEventListener("click", action);
  return button;
}
