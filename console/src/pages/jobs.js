// All jobs: filters, saved views, actions on many, export.
import {html, useEffect, useId, useState} from "../lib/html.js";
import {address} from "../lib/api.js";
import {useList} from "../lib/fetching.js";
import {localTime, percentText} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {go, jobAddress, setQuery, to, useRoute} from "../lib/router.js";
import {kept} from "../lib/store.js";
import {actOnMany} from "../actions.js";
import {cronWords} from "../job/words.js";
import {Act, Button, Empty, Page, Tags, Time} from "../ui/basics.js";
import {Dialog} from "../ui/dialog.js";
import {ChoiceFilter, Filters, GroupFilter, TextFilter} from "../ui/filters.js";
import {Icon} from "../ui/icons.js";
import {TextField} from "../ui/form.js";
import {Status} from "../ui/status.js";
import {ListTable} from "../ui/table.js";

export const kFilters = ["text", "group", "state", "kind", "tag", "owner", "task_prefix"];
const kStates = ["active", "suspended", "quarantined", "ended"];
const kKinds = ["cron", "every", "fixed_delay", "manual", "at", "now"];

export const filterOf = (query) =>
  Object.fromEntries(kFilters.filter((name) => query[name]).map((name) => [name, query[name]]));
const keyOf = (job) => `${job.group}/${job.task_id}`;

export function scheduleText(job) {
  if (job.kind === "manual" || job.kind === "now") return word("kind.", job.kind);
  if (job.kind === "at" && job.schedule) return localTime(job.schedule, {isLong: true});
  return job.schedule ? String(job.schedule) : word("kind.", job.kind);
}

const columns = [
  {
    name: "task",
    get label() {
      return t("field.task_id");
    },
    kind: "name",
    cell: (job) => html`<a href=${jobAddress(job.group, job.task_id)}>${job.task_id}</a>
    ${job.running > 0 && html` <span class="badge tone-run">${t("jobs.running", {n: job.running})}</span>`}
    <span class="sub">${job.group}${job.description ? " · " + job.description : ""}</span>`,
  },
  {
    name: "schedule",
    get label() {
      return t("field.schedule");
    },
    kind: "schedule",
    cell: (job) =>
      job.kind === "manual" || job.kind === "now"
        ? scheduleText(job)
        : html`<span class="mono">${scheduleText(job)}</span>
    <span class="sub">${[(job.kind === "cron" && cronWords(job.schedule)) || word("kind.", job.kind), job.tz].filter(Boolean).join(" · ")}</span>`,
  },
  {
    name: "state",
    get label() {
      return t("field.state");
    },
    cell: (job) => html`<${Status} state=${job.state} />`,
  },
  {
    name: "next",
    get label() {
      return t("field.next_fire");
    },
    cell: (job) => (job.next_fire ? html`<${Time} at=${job.next_fire} utc />` : "–"),
  },
  {
    name: "last",
    get label() {
      return t("field.last_result");
    },
    cell: (job) =>
      job.last_result
        ? html`<${Status} state=${job.last_result} />
    ${job.last_fire && html`<span class="sub"><${Time} at=${job.last_fire} /></span>`}`
        : "–",
  },
  {
    name: "rate",
    get label() {
      return t("field.success_rate");
    },
    kind: "number",
    cell: (job) =>
      job.success_rate === null || job.success_rate === undefined
        ? "–"
        : html`<span title=${t("jobs.success_help")}
    class=${job.success_rate !== null && job.success_rate < 0.8 ? "tone-bad" : ""}>${percentText(job.success_rate)}</span>`,
  },
  {
    name: "owner",
    get label() {
      return t("field.owner");
    },
    cell: (job) => html`${job.owner && html`<span class="sub">${job.owner}</span>`}
    <${Tags} tags=${job.tags} href=${(tag) => to(["jobs"], {tag})} />${!job.owner && !(job.tags ?? []).length && "–"}`,
  },
];

/// A page of jobs; then the results of their last runs, which take longer to read, and are read less often.
function useJobs(query) {
  const list = useList("/jobs", query, {on: ["job.changed", "run.ended", "run.started"]});
  const results = useList("/jobs", {...query, results: "true"}, {on: ["run.ended"], quietMs: 10000});
  const known = new Map(results.items.map((job) => [keyOf(job), job]));
  const withResults = (job) => {
    const {last_result, success_rate} = known.get(keyOf(job)) ?? job;
    return {...job, last_result, success_rate};
  };
  return {...list, items: list.items.map(withResults)};
}

/// Filters that the person named, as buttons above the list.
function Views() {
  const {query} = useRoute();
  const [views, setViews] = useState(kept.get("views", []));
  const [isNaming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const now = new URLSearchParams(filterOf(query)).toString();
  const standard = [
    ["jobs.view_all", {}],
    ["jobs.view_suspended", {state: "suspended"}],
    ["jobs.view_quarantined", {state: "quarantined"}],
    ["jobs.view_schedules", {kind: "cron"}],
  ];
  const save = (next) => {
    setViews(next);
    kept.set("views", next);
  };
  const store = () => {
    if (!name.trim()) return;
    save([...views.filter((view) => view.name !== name.trim()), {name: name.trim(), filter: filterOf(query)}]);
    setNaming(false);
    setName("");
  };
  const isOn = (filter) => new URLSearchParams(filterOf(filter)).toString() === now;
  return html`<div class="views" role="group" aria-label=${t("jobs.views")}>
    ${standard.map(
      ([key, filter]) => html`<span class=${"view" + (isOn(filter) ? " on" : "")}>
      <a href=${to(["jobs"], filter)} aria-current=${isOn(filter) ? "true" : undefined}>${t(key)}</a></span>`,
    )}
    ${views.map(
      (view) => html`<span class=${"view" + (isOn(view.filter) ? " on" : "")}>
      <a href=${to(["jobs"], view.filter)} aria-current=${isOn(view.filter) ? "true" : undefined}>${view.name}</a>
      <button type="button" aria-label=${t("jobs.view_forget", {name: view.name})} onClick=${() => save(views.filter((one) => one !== view))}>
        <${Icon} name="cross" /></button></span>`,
    )}
    ${now && html`<${Button} kind="quiet small" icon="star" label=${t("jobs.view_save")} onClick=${() => setNaming(true)} />`}
    ${
      isNaming &&
      html`<${Dialog} title=${t("jobs.view_save")} onClose=${() => setNaming(false)} onSubmit=${store}
      actions=${html`<button type="submit" class="button primary">${t("act.save")}</button>`}>
      <${TextField} label=${t("field.name")} value=${name} onInput=${setName} autofocus help=${t("jobs.view_help")} /></${Dialog}>`
    }</div>`;
}

function Bulk({chosen, setChosen, list, filter}) {
  const [isAll, setAll] = useState(false);
  const [tagging, setTagging] = useState(null);
  const [tag, setTag] = useState("");
  const id = useId();
  useEffect(() => setAll(false), [chosen.size]);
  if (chosen.size === 0) return null;
  const isWhole = list.items.length > 0 && chosen.size >= list.items.length && list.next;
  const jobs = [...chosen].map((key) => ({
    group: key.slice(0, key.indexOf("/")),
    task_id: key.slice(key.indexOf("/") + 1),
  }));
  const run = async (action, more = {}) => {
    const target = isAll ? {filter} : {items: jobs};
    const ended = await actOnMany("job", {action, ...target, ...more}, isAll ? (list.total ?? null) : jobs.length);
    if (ended) {
      setChosen(new Set());
      list.reload();
    }
  };
  return html`<div class="bulk" role="region" aria-labelledby=${id}><strong id=${id}>
      ${isAll ? t("jobs.all_chosen") : t("table.chosen", {n: chosen.size})}</strong>
    ${isWhole && !isAll && html`<${Button} kind="quiet small" label=${t("jobs.choose_matching")} onClick=${() => setAll(true)} />`}
    ${["suspend", "resume", "trigger"].map((action) => html`<${Act} label=${t("act." + action)} onClick=${() => run(action)} />`)}
    <${Act} need="editor" label=${t("act.tag")} onClick=${() => setTagging("tag")} />
    <${Act} need="editor" label=${t("act.untag")} onClick=${() => setTagging("untag")} />
    <${Act} need="editor" kind="danger" label=${t("act.cancel")} onClick=${() => run("cancel")} />
    <${Button} kind="quiet" icon="cross" label=${t("table.choose_none")} onClick=${() => setChosen(new Set())} />
    ${
      tagging &&
      html`<${Dialog} title=${t("act." + tagging)} onClose=${() => setTagging(null)} onSubmit=${() => {
        const word = tag.trim();
        setTagging(null);
        if (word) run(tagging, {tag: word});
      }} actions=${html`<button type="submit" class="button primary">${t("act." + tagging)}</button>`}>
      <${TextField} label=${t("field.tag")} value=${tag} onInput=${setTag} autofocus /></${Dialog}>`
    }</div>`;
}

export default function Jobs({route}) {
  const {query} = route;
  const filter = filterOf(query);
  const [chosen, setChosen] = useState(new Set());
  useEffect(() => setChosen(new Set()), [JSON.stringify(query)]);
  const list = useJobs({...filter, page: query.page, page_size: 50});
  const isFiltered = Object.keys(filter).length > 0;
  return html`<${Page} title=${t("nav.jobs")} actions=${html`
      <a class="button" href=${address("/jobs:export", filter)} download="jobs.jsonl"><${Icon} name="download" />${t("jobs.export")}</a>
      <a class="button" href=${to(["jobs", "import"])}><${Icon} name="upload" />${t("jobs.import")}</a>
      <${Act} need="editor" kind="primary" icon="plus" label=${t("jobs.new")} onClick=${() => go(to(["jobs", "new"]))} />`}>
    <${Views} />
    <${Filters} names=${kFilters}>
      <${TextFilter} name="text" label=${t("filter.text")} placeholder=${t("jobs.text_hint")} isMain />
      <${GroupFilter} />
      <${ChoiceFilter} name="state" label=${t("field.state")} options=${kStates.map((name) => [name, t("state." + name)])} />
      <${ChoiceFilter} name="kind" label=${t("field.kind")} options=${kKinds.map((name) => [name, t("kind." + name)])} />
      <${TextFilter} name="tag" label=${t("field.tag")} /><${TextFilter} name="owner" label=${t("field.owner")} />
      <${TextFilter} name="task_prefix" label=${t("filter.prefix")} placeholder="team/" />
    </${Filters}>
    <${Bulk} chosen=${chosen} setChosen=${setChosen} list=${list} filter=${filter} />
    <${ListTable} label=${t("nav.jobs")} list=${list} columns=${columns} keyOf=${keyOf} open=${(job) => jobAddress(job.group, job.task_id)}
      choice=${{keys: chosen, onChange: setChosen}} empty=${
        isFiltered
          ? html`<${Empty} text=${t("jobs.none_match")}><${Button} label=${t("filter.clear")}
            onClick=${() => setQuery(Object.fromEntries(kFilters.map((name) => [name, ""])))} /></${Empty}>`
          : html`<${Empty} text=${t("jobs.none")}><pre>jobclient submit --task-id hello --every 1m -- echo hello</pre></${Empty}>`
      } />
  </${Page}>`;
}
