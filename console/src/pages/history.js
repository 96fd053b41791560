// What ran and what did not: filters by anything; what failed can be run again in bulk.
import {html, useEffect, useState} from "../lib/html.js";
import {get, runPath} from "../lib/api.js";
import {useList} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {setQuery, to} from "../lib/router.js";
import {actOnMany, startMany} from "../actions.js";
import {HistoryTable} from "../parts/history_table.js";
import {CleanDialog} from "../parts/clean.js";
import {RerunDialog} from "../parts/rerun.js";
import {Act, Button, Empty, Page, Tabs} from "../ui/basics.js";
import {ChoiceFilter, Filters, GroupFilter, TextFilter, TimeFilter} from "../ui/filters.js";

const kFilters = ["text", "group", "task_id", "job_id", "state", "since", "until"];
const kStates = [
  "succeeded",
  "failed",
  "timed_out",
  "killed",
  "lost",
  "later",
  "discarded",
  "skipped",
  "missed",
  "expired",
  "cancelled",
];
export const kFailed = "failed,timed_out,killed,lost";
const kNotRun = "skipped,missed,expired,cancelled,discarded";

function useQuarantined() {
  return useList("/jobs", {state: "quarantined", page_size: 100}, {on: ["job.changed"]}).items.length;
}

function Redrive({chosen, setChosen, list, filter}) {
  const [isAll, setAll] = useState(false);
  const [payload, setPayload] = useState(null);
  useEffect(() => setAll(false), [chosen.size]);
  if (chosen.size === 0) return null;
  const ids = [...new Set([...chosen].map((key) => key.slice(0, key.indexOf(":"))))];
  const target = isAll ? {filter: {...filter, list: "history"}} : {items: ids.map((id) => ({job_id: id}))};
  const finish = () => {
    setChosen(new Set());
    list.reload();
  };
  const edit = async () => {
    const run = await get(runPath(ids[0])).catch(() => ({}));
    setPayload(run.spec?.payload ?? "");
  };
  const send = async (edited) => {
    const ended = await startMany("run", {
      action: "rerun",
      ...target,
      ...(edited === undefined ? {} : {payload: edited}),
    });
    finish();
    ended.promise.then(list.reload);
  };
  return html`<div class="bulk" role="region" aria-label=${t("table.chosen", {n: chosen.size})}>
    <strong>${isAll ? t("queues.all_chosen") : t("table.chosen", {n: chosen.size})}</strong>
    ${list.next && chosen.size >= list.items.length && !isAll && html`<${Button} kind="quiet small" label=${t("queues.choose_matching")} onClick=${() => setAll(true)} />`}
    <${Act} kind="primary" icon="refresh" label=${t("act.rerun")} onClick=${async () => {
      if (await actOnMany("run", {action: "rerun", ...target}, isAll ? (list.total ?? null) : ids.length)) finish();
    }} />
    <${Act} label=${t("history.rerun_edited")} onClick=${edit} />
    <${Button} kind="quiet" icon="cross" label=${t("table.choose_none")} onClick=${() => setChosen(new Set())} />
    ${
      payload !== null &&
      html`<${RerunDialog} title=${t("history.rerun_edited")} payload=${payload}
      text=${isAll ? t("history.rerun_all_text") : t("history.rerun_text", {n: ids.length})} onRun=${send} onClose=${() => setPayload(null)} />`
    }</div>`;
}

export default function History({route}) {
  const {query} = route;
  const filter = Object.fromEntries(kFilters.filter((name) => query[name]).map((name) => [name, query[name]]));
  const [chosen, setChosen] = useState(new Set());
  // What somebody chooses from must not move.
  const list = useList(
    "/runs/history",
    {...filter, page: query.page, page_size: 50},
    {on: query.page || chosen.size ? [] : ["run.ended"]},
  );
  const [isCleaning, setCleaning] = useState(false);
  useEffect(() => setChosen(new Set()), [JSON.stringify(query)]);
  const quarantined = useQuarantined();
  const states = kStates.map((name) => [name, t("state." + name)]);
  const known = [kFailed, kNotRun];
  const view = query.state === kFailed ? "failed" : query.state === kNotRun ? "not_run" : "all";
  return html`<${Page} title=${t("nav.history")} actions=${html`<${Act} need="admin" kind="danger quiet" label=${t("act.clean")} onClick=${() => setCleaning(true)} />`}>
    <${Tabs} label=${t("history.views")} current=${view} items=${[
      ["all", t("history.all"), to(["history"], {...filter, state: ""})],
      ["failed", t("history.failed"), to(["history"], {...filter, state: kFailed})],
      ["not_run", t("history.not_run"), to(["history"], {...filter, state: kNotRun})],
      ["quarantined", t("history.quarantined"), to(["jobs"], {state: "quarantined"}), quarantined],
    ]} />
    <${Filters} names=${kFilters}>
      <${TextFilter} name="text" label=${t("filter.text")} placeholder=${t("history.text_hint")} isMain />
      <${GroupFilter} /><${TextFilter} name="task_id" label=${t("field.task_id")} /><${TextFilter} name="job_id" label=${t("field.job_id")} />
      <${ChoiceFilter} name="state" label=${t("field.state")} options=${
        known.includes(query.state) ? [[query.state, t("history." + view)], ...states] : states
      } />
      <${TimeFilter} name="since" label=${t("filter.since")} /><${TimeFilter} name="until" label=${t("filter.until")} /></${Filters}>
    <${Redrive} chosen=${chosen} setChosen=${setChosen} list=${list} filter=${filter} />
    <${HistoryTable} list=${list} choice=${{keys: chosen, onChange: setChosen}} empty=${
      Object.keys(filter).length
        ? html`<${Empty} text=${t("history.none_match")}><${Button} label=${t("filter.clear")}
          onClick=${() => setQuery(Object.fromEntries(kFilters.map((name) => [name, ""])))} /></${Empty}>`
        : html`<${Empty} text=${t("history.none")}><pre>jobclient submit --wait -- echo hello</pre></${Empty}>`
    } />
    ${isCleaning && html`<${CleanDialog} group=${query.group} taskId=${query.task_id} onClose=${() => setCleaning(false)} onDone=${list.reload} />`}</${Page}>`;
}
