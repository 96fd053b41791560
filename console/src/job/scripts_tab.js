// Versions of a job's script: show, compare, restore, edit.
import {html, useState} from "../lib/html.js";
import {jobPath, post, put} from "../lib/api.js";
import {useFetch} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {jobAddress, setQuery} from "../lib/router.js";
import {refusal} from "../lib/session.js";
import {Act, Button, Empty, Fetched, Panel, Problem, Time} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {TextField} from "../ui/form.js";
import {Table} from "../ui/table.js";
import {ScriptDiff, ScriptField, ScriptView} from "./script_field.js";

function Edit({path, job, current, onDone, onClose}) {
  const [source, setSource] = useState(current.source ?? "");
  const [remark, setRemark] = useState("");
  const [error, setError] = useState(null);
  const why = refusal("editor", job.group);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await put(path + "/script", {source, language: current.language, remark});
      toast("good", t("script.saved"));
      onDone();
    } catch (failed) {
      setError(failed);
    }
  };
  return html`<form onSubmit=${submit} class="form">
    ${error && html`<div class="field wide"><${Problem} error=${error} /></div>`}
    <${ScriptField} label=${t("field.source")} help=${t("script.edit_help")} language=${current.language} value=${source} onInput=${setSource} />
    <${TextField} label=${t("field.remark")} help=${t("help.remark")} value=${remark} onInput=${setRemark} wide />
    <div class="field wide actions"><button type="submit" class="button primary" disabled=${Boolean(why || source === current.source)} title=${why}>${t("act.save")}</button>
      <${Button} label=${t("act.back")} onClick=${onClose} /></div></form>`;
}

export function Scripts({job, query, reload}) {
  const path = jobPath(job.group, job.task_id);
  const versions = useFetch(path + "/scripts", {page_size: 30});
  const items = versions.data?.items ?? [];
  const current = items.find((one) => one.is_current) ?? items[0];
  const shown = items.find((one) => String(one.version) === query.version) ?? current;
  const source = useFetch(shown ? `${path}/scripts/${encodeURIComponent(shown.version)}` : null);
  const base = useFetch(query.compare && current ? `${path}/scripts/${encodeURIComponent(query.compare)}` : null);
  const changed = () => {
    versions.reload();
    source.reload();
    reload();
    setQuery({edit: "", version: "", compare: ""});
  };
  const restore = async (version) => {
    if (
      !(await confirm({
        title: t("ask.restore"),
        text: t("ask.restore_text"),
        action: t("act.restore"),
        isDanger: false,
      }))
    )
      return;
    await post(`${path}/scripts/${encodeURIComponent(version)}:restore`);
    toast("good", t("script.restored"));
    changed();
  };
  const columns = [
    {
      name: "version",
      label: t("field.version"),
      kind: "name",
      cell: (
        one,
      ) => html`<a class="mono" href=${jobAddress(job.group, job.task_id, {tab: "scripts", version: one.version})}>${one.version}</a>
      ${one.is_current && html` <span class="badge tone-good">${t("script.current")}</span>`}`,
    },
    {name: "at", label: t("field.time"), cell: (one) => html`<${Time} at=${one.at} />`},
    {name: "by", label: t("field.by"), isOptional: true, cell: (one) => one.by || "–"},
    {name: "remark", label: t("field.remark"), kind: "grow", cell: (one) => one.remark || "–"},
    {
      name: "act",
      label: "",
      kind: "tight",
      cell: (one) =>
        !one.is_current &&
        html`<div class="actions">
      <${Button} kind="small" label=${t("script.compare")} onClick=${() => setQuery({version: String(current.version), compare: String(one.version), edit: ""})} />
      <${Act} need="editor" group=${job.group} kind="small" label=${t("act.restore")} onClick=${() => restore(one.version)} /></div>`,
    },
  ];
  return html`<${Fetched} from=${versions}>${() =>
    items.length === 0
      ? html`<${Empty} text=${t("script.none")} />`
      : html`
    <${Table} label=${t("script.versions")} rows=${items} columns=${columns} keyOf=${(one) => String(one.version)} rowClass=${(one) => (one === shown ? "chosen" : "")} />
    <div class="spaced"><${Panel} title=${
      query.compare && base.data
        ? t("script.diff", {before: query.compare, after: shown?.version})
        : t("script.version_title", {version: shown?.version})
    } note=${shown?.language}
      actions=${html`${query.compare && html`<${Button} kind="small" label=${t("script.no_diff")} onClick=${() => setQuery({compare: ""})} />`}
        ${
          !query.edit &&
          shown === current &&
          !query.compare &&
          html`<${Act} need="editor" group=${job.group} kind="small" icon="edit" label=${t("act.edit")}
          onClick=${() => setQuery({edit: "yes"})} />`
        }`}>
      <${Fetched} from=${source}>${(data) => {
        if (query.edit && shown === current)
          return html`<${Edit} path=${path} job=${job} current=${data} onDone=${changed} onClose=${() => setQuery({edit: ""})} />`;
        if (query.compare && base.data) {
          return html`<${ScriptDiff} before=${base.data.source ?? ""} after=${data.source ?? ""} language=${data.language} label=${t("script.versions")} />`;
        }
        return html`<${ScriptView} text=${data.source ?? ""} language=${data.language ?? shown.language} label=${t("field.source")} />`;
      }}</${Fetched}></${Panel}></div>`}</${Fetched}>`;
}
