// Who changed what, and what was refused.
import {html} from "../lib/html.js";
import {get, saveText} from "../lib/api.js";
import {useList} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {AuditTable} from "../parts/audit_table.js";
import {Act, Page} from "../ui/basics.js";
import {Filters, GroupFilter, TextFilter, TimeFilter} from "../ui/filters.js";
import {toast} from "../ui/dialog.js";

const kFilters = ["task_id", "group", "by", "since"];
const kMostPages = 100;

/// Everything that the filter matches, as JSON lines.
async function save(filter) {
  const lines = [];
  let token = "";
  let pages = 0;
  do {
    const page = await get("/audit", {...filter, page_token: token, page_size: 1000});
    for (const entry of page.items ?? []) lines.push(JSON.stringify(entry));
    token = page.next_page_token || "";
  } while (token && ++pages < kMostPages);
  saveText("audit.jsonl", lines.join("\n") + "\n", "application/jsonl");
  toast("good", t("audit.saved", {n: lines.length}));
}

export default function Audit({route}) {
  const {query} = route;
  const filter = Object.fromEntries(kFilters.filter((name) => query[name]).map((name) => [name, query[name]]));
  const list = useList("/audit", {...filter, page: query.page, page_size: 100});
  return html`<${Page} title=${t("nav.audit")} sub=${t("audit.sub")} actions=${html`<${Act} need="viewer" icon="download" label=${t("audit.export")} onClick=${() => save(filter)} />`}>
    <${Filters} names=${kFilters}><${TextFilter} name="task_id" label=${t("field.task_id")} isMain /><${GroupFilter} /><${TextFilter} name="by" label=${t("field.by")} />
      <${TimeFilter} name="since" label=${t("filter.since")} /></${Filters}><${AuditTable} list=${list} /></${Page}>`;
}
