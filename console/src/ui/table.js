// Tables: sticky heads, arrows and Enter, choice of rows; on a phone each row is a card.
import {html, classes, useEffect, useRef} from "../lib/html.js";
import {t} from "../lib/i18n.js";
import {go, setQuery, useRoute} from "../lib/router.js";
import {Button, Loading, Problem} from "./basics.js";

function moveFocus(event, rows) {
  const index = rows.indexOf(event.currentTarget);
  const next = {ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1}[event.key];
  if (next === undefined || !rows[next]) return;
  event.preventDefault();
  rows[next].focus();
}

const isBlank = (content) => ["–", "", null, undefined, false].includes(content);

/// columns: [{name, label, cell(row), kind, isOptional}]; kind "number", "grow", "tight" or "". An optional column without
/// content is left out.
/// choice: {keys: Set, onChange(Set)} adds boxes to choose rows; keyOf(row) names a row.
export function Table({label, columns, rows, keyOf, open, choice, rowClass, isLoading, empty}) {
  const body = useRef(null);
  const isEmpty = (column) => column.isOptional && rows.every((row) => isBlank(column.cell(row)));
  const shown = columns.filter((column) => column && !isEmpty(column));
  const onKey = (event, row) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === "Enter" && open) go(open(row));
    else if (event.key === " " && choice) {
      event.preventDefault();
      toggle(row);
    } else moveFocus(event, [...body.current.querySelectorAll("tr")]);
  };
  const toggle = (row) => {
    const keys = new Set(choice.keys);
    if (!keys.delete(keyOf(row))) keys.add(keyOf(row));
    choice.onChange(keys);
  };
  const onClick = (event, row) => {
    if (!open || event.target.closest("a,button,input,label,select")) return;
    if (String(window.getSelection())) return;
    go(open(row));
  };
  const areAllChosen = choice && rows.length > 0 && rows.every((row) => choice.keys.has(keyOf(row)));
  return html`<div class=${classes("table-box", {busy: isLoading})}>
    <table class="table" aria-label=${label} role="table" aria-busy=${isLoading ? "true" : "false"}>
      <thead role="rowgroup"><tr role="row">
        ${
          choice &&
          html`<th class="tight" role="columnheader" scope="col"><input type="checkbox" aria-label=${t("table.choose_all")}
          checked=${areAllChosen} onChange=${() =>
            choice.onChange(areAllChosen ? new Set() : new Set(rows.map(keyOf)))} /></th>`
        }
        ${shown.map(
          (column) => html`<th key=${column.name} class=${column.kind} role="columnheader" scope="col">
          ${column.label || html`<span class="hidden">${t("table.actions")}</span>`}</th>`,
        )}
      </tr></thead>
      <tbody ref=${body} role="rowgroup">${rows.map((row, index) => {
        const key = keyOf ? keyOf(row) : index;
        return html`<tr key=${key} role="row" tabindex=${index === 0 ? 0 : -1}
            class=${classes(rowClass?.(row), {opens: open, chosen: choice?.keys.has(key)})}
            onKeyDown=${(event) => onKey(event, row)} onClick=${(event) => onClick(event, row)}>
          ${
            choice &&
            html`<td class="tight" role="cell"><input type="checkbox" checked=${choice.keys.has(key)}
            aria-label=${t("table.choose", {name: key})} onChange=${() => toggle(row)} /></td>`
          }
          ${shown.map((column) => {
            const content = column.cell(row);
            return html`<td key=${column.name} class=${classes(column.kind, {blank: isBlank(content)})} role="cell" data-label=${column.label}>
              <div class="cell">${content}</div></td>`;
          })}</tr>`;
      })}</tbody></table>
    ${rows.length === 0 && !isLoading && empty}</div>`;
}

/// Below a list: the next page, and back to the first.
export function Pager({next, count}) {
  const {query} = useRoute();
  if (!next && !query.page) return count ? html`<p class="pager faint">${t("table.all", {n: count})}</p>` : null;
  return html`<nav class="pager" aria-label=${t("table.pages")}>
    <${Button} label=${t("table.first")} disabled=${!query.page} onClick=${() => setQuery({page: ""})} />
    <${Button} label=${t("table.previous")} icon="left" disabled=${!query.page} onClick=${() => history.back()} />
    <${Button} label=${t("table.next")} disabled=${!next} onClick=${() => setQuery({page: next})} />
    <span class="faint">${t("table.rows", {n: count})}</span></nav>`;
}

/// A table of a useList().
export function ListTable({list, empty, ...rest}) {
  const top = useRef(null);
  const {query} = useRoute();
  useEffect(() => {
    if (query.page) top.current?.closest("main")?.scrollTo(0, 0);
  }, [query.page]);
  if (list.error && list.items.length === 0) return html`<${Problem} error=${list.error} retry=${list.reload} />`;
  return html`<div ref=${top}>${list.error && html`<${Problem} error=${list.error} retry=${list.reload} />`}
    <${Table} rows=${list.items} isLoading=${list.isLoading} empty=${empty} ...${rest} />
    ${list.isLoading && list.items.length === 0 && html`<${Loading} />`}
    <${Pager} next=${list.next} count=${list.items.length} /></div>`;
}
