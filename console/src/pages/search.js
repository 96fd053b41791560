// All that the search box found.
import {html} from "../lib/html.js";
import {useFetch} from "../lib/fetching.js";
import {t, word} from "../lib/i18n.js";
import {foundAddress, to} from "../lib/router.js";
import {Empty, Fetched, Page} from "../ui/basics.js";
import {Table} from "../ui/table.js";

export default function Search({route}) {
  const text = route.query.text ?? "";
  const found = useFetch(text ? "/search" : null, {text});
  return html`<${Page} title=${t("search.title", {text})} sub=${html`<a href=${to(["jobs"], {text})}>${t("search.in_jobs")}</a>
      <a href=${to(["history"], {text})}>${t("search.in_history")}</a><a href=${to(["scripts"], {text})}>${t("search.in_scripts")}</a>`}>
    ${
      !text
        ? html`<${Empty} text=${t("search.hint")} />`
        : html`<${Fetched} from=${found}>${(data) => html`
      <${Table} label=${t("search.found")} rows=${data.items ?? []} keyOf=${(one) => `${one.type}${one.group}${one.task_id}${one.job_id}${one.label}`} open=${foundAddress}
        empty=${html`<${Empty} text=${t("search.none_for", {text})} />`} columns=${[
          {
            name: "label",
            label: t("field.name"),
            kind: "name",
            cell: (one) => html`<a href=${foundAddress(one)}>${one.label || one.task_id || one.job_id}</a>`,
          },
          {name: "type", label: t("field.kind"), cell: (one) => word("search.type_", one.type)},
          {name: "group", label: t("field.group"), cell: (one) => one.group || "–"},
        ]} />`}</${Fetched}>`
    }</${Page}>`;
}
