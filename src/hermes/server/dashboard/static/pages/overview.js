// How the gateway is doing now.

import { detail } from "../detail.js";
import { el } from "../dom.js";
import { give } from "../gateway.js";
import { loading } from "../table.js";

export function show(view) {
  const body = el("section", {});
  const again = loading(body, async () => detail(await give("gateway.status", {}, view)), view);
  view.main.append(body);
  view.onRefresh(again);
  return again();
}
