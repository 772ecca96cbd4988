// The log of this process, the newest line first.

import { listPage } from "../listpage.js";
import { t } from "../strings.js";

const fields = ({ fields: rest }) =>
  Object.entries(rest ?? {}).map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`).join("  ");

export const show = listPage({
  order: "logs.read",
  rows: "lines",
  filters: ["level", "message"],
  most: 5000,
  empty: t("logs.none"),
  columns: [["time", "code"], ["level", "state"], ["event", "code"], ["fields", "text", fields]],
});
