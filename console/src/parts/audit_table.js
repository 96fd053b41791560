// Who changed what.
import {html, useState} from "../lib/html.js";
import {t, word} from "../lib/i18n.js";
import {jobAddress} from "../lib/router.js";
import {Button, Code, Empty, Time} from "../ui/basics.js";
import {Dialog} from "../ui/dialog.js";
import {Status} from "../ui/status.js";
import {ListTable} from "../ui/table.js";

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/// The fields of two objects that differ.
export function differences(before, after) {
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isObject(before) || !isObject(after)) return null;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => ({field: name, before: before[name], after: after[name]}));
}

export function DiffTable({rows}) {
  const side = (value) =>
    value === undefined || value === null ? html`<span class="faint">–</span>` : html`<pre>${textOf(value)}</pre>`;
  return html`<table class="table diff-table"><thead><tr><th scope="col">${t("field.field")}</th><th scope="col">${t("field.before")}</th>
    <th scope="col">${t("field.after")}</th></tr></thead><tbody>${rows.map(
      (row) => html`<tr><td data-label=${t("field.field")}><span class="mono">${row.field}</span></td>
      <td data-label=${t("field.before")} class="removed">${side(row.before)}</td><td data-label=${t("field.after")} class="added">${side(row.after)}</td></tr>`,
    )}</tbody></table>`;
}

function Change({entry, onClose}) {
  const parse = (value) => {
    try {
      return typeof value === "string" ? JSON.parse(value) : value;
    } catch {
      return value;
    }
  };
  const before = parse(entry.before);
  const after = parse(entry.after);
  const rows = differences(before, after);
  return html`<${Dialog} wide title=${`${word("action.", entry.action)} ${entry.task_id ?? ""}`} onClose=${onClose}>
    ${
      rows
        ? html`<${DiffTable} rows=${rows} />`
        : html`${before ? html`<h3>${t("field.before")}</h3><${Code} text=${textOf(before)} label=${t("field.before")} />` : null}
        ${after ? html`<h3>${t("field.after")}</h3><${Code} text=${textOf(after)} label=${t("field.after")} />` : null}`
    }</${Dialog}>`;
}

/// "done", or "refused: why".
function Outcome({text}) {
  const [, state, why] = /^(done|ok|refused|denied)(?:: (.*))?$/s.exec(text) ?? [];
  if (!state) return html`<span class="break">${text}</span>`;
  return html`<${Status} state=${state === "ok" ? "done" : state} />${why && html`<span class="sub">${why}</span>`}`;
}

export function AuditTable({list, hideTask = false}) {
  const [shown, setShown] = useState(null);
  const columns = [
    {name: "time", label: t("field.time"), cell: (entry) => html`<${Time} at=${entry.time} />`},
    {
      name: "by",
      label: t("field.by"),
      cell: (entry) =>
        html`${entry.by || "–"}<span class=${(entry.address ?? "").length < 20 ? "sub nowrap" : "sub"}>${[
          word("principal.", entry.kind),
          entry.address,
        ]
          .filter(Boolean)
          .join(" · ")}</span>`,
    },
    {name: "action", label: t("field.action"), cell: (entry) => html`<span class="nowrap">${word("action.", entry.action)}</span>`},
    !hideTask && {
      name: "task",
      label: t("field.object"),
      kind: "name",
      cell: (entry) =>
        entry.task_id && entry.group
          ? html`<a href=${jobAddress(entry.group, entry.task_id)}>${entry.task_id}</a><span class="sub">${entry.group}</span>`
          : entry.task_id || entry.group || "–",
    },
    {
      name: "outcome",
      label: t("field.outcome"),
      cell: (entry) => html`<${Outcome} text=${entry.outcome ?? ""} />`,
    },
    {
      name: "change",
      label: t("field.change"),
      kind: "tight",
      cell: (entry) =>
        entry.before || entry.after
          ? html`<${Button} kind="small" label=${t("audit.show")} onClick=${() => setShown(entry)} />`
          : "–",
    },
  ];
  return html`<${ListTable} label=${t("nav.audit")} list=${list} columns=${columns} keyOf=${(entry) => `${entry.time}${entry.by}${entry.task_id}${entry.action}`}
      empty=${html`<${Empty} text=${t("audit.none")} />`} />
    ${shown && html`<${Change} entry=${shown} onClose=${() => setShown(null)} />`}`;
}
