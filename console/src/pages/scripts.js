// Search in all scripts.
import {html} from "../lib/html.js";
import {useList} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {jobAddress, to} from "../lib/router.js";
import {Act, Empty, Page} from "../ui/basics.js";
import {go} from "../lib/router.js";
import {Filters, TextFilter} from "../ui/filters.js";
import {ListTable} from "../ui/table.js";

const kShownLines = 4;

function Matches({matches, text}) {
  const list = matches ?? [];
  return html`<div class="matches">${list.slice(0, kShownLines).map((match) => {
    const at = text ? match.text.toLowerCase().indexOf(text.toLowerCase()) : -1;
    return html`<div class="match"><span class="faint number">${match.line}</span><code>${
      at < 0
        ? match.text
        : html`${match.text.slice(0, at)}<mark>${match.text.slice(at, at + text.length)}</mark>${match.text.slice(at + text.length)}`
    }</code></div>`;
  })}${list.length > kShownLines && html`<div class="faint">${t("scripts.more", {n: list.length - kShownLines})}</div>`}</div>`;
}

export default function Scripts({route}) {
  const {text, page} = route.query;
  const list = useList("/scripts", {text, page, page_size: 50}, {on: ["job.changed"]});
  const address = (script) => jobAddress(script.group, script.task_id, {tab: "scripts"});
  return html`<${Page} title=${t("nav.scripts")} sub=${t("scripts.sub")} actions=${html`<${Act} need="editor" icon="plus" label=${t("jobs.new")} onClick=${() => go(to(["jobs", "new"]))} />`}>
    <${Filters} names=${["text"]}><${TextFilter} name="text" label=${t("scripts.search")} placeholder=${t("scripts.hint")} isMain /></${Filters}>
    <${ListTable} label=${t("nav.scripts")} list=${list} keyOf=${(script) => `${script.group}/${script.task_id}`} open=${address} columns=${[
      {
        name: "task",
        label: t("field.task_id"),
        kind: "name",
        cell: (script) =>
          html`<a href=${address(script)}>${script.task_id}</a><span class="sub">${script.group}</span>`,
      },
      {
        name: "language",
        label: t("field.language"),
        cell: (script) => html`<span class="tag">${script.language}</span>`,
      },
      {
        name: "matches",
        label: t("scripts.matches"),
        kind: "grow",
        cell: (script) => html`<${Matches} matches=${script.matches} text=${text} />`,
      },
      {
        name: "version",
        label: t("field.version"),
        isOptional: true,
        cell: (script) => script.version && html`<span class="mono">${script.version}</span>`,
      },
      {name: "remark", label: t("field.remark"), cell: (script) => script.remark || "–"},
    ]}
      empty=${
        text
          ? html`<${Empty} text=${t("scripts.none_match", {text})} />`
          : html`<${Empty} text=${t("scripts.none")}><pre>jobclient submit --task-id report --manual --script report.py</pre></${Empty}>`
      } /></${Page}>`;
}
