// Import of jobs from JSON lines: first what would change, then the change.
import {html, useState} from "../lib/html.js";
import {post} from "../lib/api.js";
import {t} from "../lib/i18n.js";
import {jobAddress, to} from "../lib/router.js";
import {DiffTable} from "../parts/audit_table.js";
import {Act, Empty, Page, Problem} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {AreaField} from "../ui/form.js";
import {Status} from "../ui/status.js";
import {Table} from "../ui/table.js";

const kChanges = ["new", "changed", "same", "invalid"];
const countsOf = (results) =>
  Object.fromEntries(kChanges.map((name) => [name, results.filter((one) => one.change === name).length]));

export default function Import() {
  const [text, setText] = useState("");
  const [results, setResults] = useState(null);
  const [error, setError] = useState(null);
  const [isDone, setDone] = useState(false);
  const send = async (isDry) => {
    setError(null);
    try {
      const answer = await post("/jobs:import", text, {
        type: "application/jsonl",
        query: isDry ? {dry_run: "true"} : {},
      });
      setResults(answer.results ?? []);
      setDone(!isDry);
      if (!isDry) toast("good", t("import.done", countsOf(answer.results ?? [])));
    } catch (failed) {
      setError(failed);
    }
  };
  const counts = countsOf(results ?? []);
  const apply = async () => {
    if (
      await confirm({
        title: t("import.ask"),
        text: t("import.ask_text", counts),
        action: t("import.apply"),
        isDanger: false,
      })
    )
      await send(false);
  };
  const read = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    setText(await file.text());
    setResults(null);
  };
  return html`<${Page} title=${t("jobs.import")} crumbs=${[[t("nav.jobs"), to(["jobs"])]]} sub=${t("import.sub")}>
    <div class="form"><div class="field wide"><label for="import-file">${t("import.file")}</label>
        <input id="import-file" type="file" accept=".jsonl,.json,.ndjson,text/plain" onChange=${read} /></div>
      <${AreaField} label=${t("import.text")} rows=${8} wide value=${text} help=${t("import.help")} onInput=${(
        value,
      ) => {
        setText(value);
        setResults(null);
      }}
        placeholder='{"task_id":"nightly","group":"ops","cron":"0 0 2 * * ?","command":["backup"]}' /></div>
    <div class="toolbar spaced"><${Act} need="editor" kind=${results ? "" : "primary"} label=${t("import.check")} disabled=${!text.trim()} onClick=${() => send(true)} />
      <${Act} need="editor" kind=${results ? "primary" : ""} label=${t("import.apply")} disabled=${!results || isDone || counts.new + counts.changed === 0} onClick=${apply} />
      ${results && html`<span role="status">${t("import.counts", counts)}</span>`}</div>
    ${error && html`<${Problem} error=${error} />`}
    ${
      results &&
      html`<${Table} label=${t("import.results")} rows=${results} keyOf=${(one) => `${one.group}/${one.task_id}/${one.reason ?? ""}`} empty=${html`<${Empty} text=${t("import.empty")} />`} columns=${[
        {
          name: "task",
          label: t("field.task_id"),
          kind: "name",
          cell: (one) =>
            one.change === "new" && !isDone
              ? html`${one.task_id || "–"}<span class="sub">${one.group}</span>`
              : html`<a href=${jobAddress(one.group, one.task_id)}>${one.task_id}</a><span class="sub">${one.group}</span>`,
        },
        {name: "change", label: t("field.change"), cell: (one) => html`<${Status} state=${one.change} />`},
        {
          name: "diff",
          label: t("import.diff"),
          kind: "grow",
          cell: (one) => ((one.diff ?? []).length ? html`<${DiffTable} rows=${one.diff} />` : one.reason || "–"),
        },
      ]} />`
    }</${Page}>`;
}
