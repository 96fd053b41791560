// The live queues: what waits, in the order in which it is handed out, and what runs.
import {html, useEffect, useState} from "../lib/html.js";
import {post, runPath} from "../lib/api.js";
import {useList} from "../lib/fetching.js";
import {durationText, nodeText, spanMs} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {jobAddress, runAddress} from "../lib/router.js";
import {useOperations} from "../lib/operations.js";
import {actOnMany, actOnRun} from "../actions.js";
import {Act, Button, Empty, Page, Relative, Time, useNow} from "../ui/basics.js";
import {Dialog, toast} from "../ui/dialog.js";
import {Filters, GroupFilter, TextFilter} from "../ui/filters.js";
import {TextField} from "../ui/form.js";
import {Status} from "../ui/status.js";
import {ListTable} from "../ui/table.js";

const task = {
  name: "task",
  get label() {
    return t("field.task_id");
  },
  kind: "name",
  cell: (run) => html`<a href=${jobAddress(run.group, run.task_id)}>${run.task_id}</a>
  <span class="sub">${run.group}</span>`,
};
const id = {
  name: "run",
  get label() {
    return t("field.job_id");
  },
  cell: (run) => html`<a class="mono nowrap" href=${runAddress(run.job_id)}>${run.job_id}</a>
  ${run.attempt > 1 && html`<span class="sub">${t("run.attempt_n", {n: run.attempt})}</span>`}`,
};

function Age({from}) {
  const ms = spanMs(from, new Date(useNow()).toISOString());
  return ms === null ? "–" : html`<span class="nowrap">${durationText(Math.max(0, ms), {isShort: ms > 10000})}</span>`;
}

const waitingColumns = (act, setMoving, canMove) => [
  {
    ...task,
    label: task.label,
    cell: (run) => html`<a href=${jobAddress(run.group, run.task_id)}>${run.task_id}</a>
    <span class="sub">${run.group} · ${word("kind.", run.kind)}</span>`,
  },
  {name: "state", label: t("field.state"), cell: (run) => html`<${Status} state=${run.state} />`},
  id,
  {name: "priority", label: t("field.priority"), kind: "number", cell: (run) => run.priority},
  {
    name: "due",
    label: t("field.due_time"),
    cell: (run) => html`<${Time} at=${run.due_time} /><span class="sub"><${Relative} at=${run.due_time} /></span>`,
  },
  {name: "trigger", label: t("field.trigger_time"), cell: (run) => html`<${Time} at=${run.trigger_time} />`},
  {
    name: "act",
    label: "",
    kind: "tight",
    cell: (run) => html`<div class="actions">
    ${canMove && html`<${Act} group=${run.group} kind="small" label=${t("act.priority")} onClick=${() => setMoving(run)} />`}
    <${Act} group=${run.group} kind="small" label=${t("act.run_now")} onClick=${() => act(run, "trigger")} />
    <${Act} group=${run.group} need="editor" kind="small danger" label=${t("act.cancel")} onClick=${() => act(run, "cancel")} /></div>`,
  },
];

const executingColumns = (act) => [
  task,
  id,
  {
    name: "node",
    label: t("field.node"),
    cell: (run) => html`<span class="break" title=${run.node}>${nodeText(run.node)}</span>`,
  },
  {name: "started", label: t("field.started_at"), cell: (run) => html`<${Time} at=${run.started_at} />`},
  {name: "age", label: t("field.running_for"), kind: "number", cell: (run) => html`<${Age} from=${run.started_at} />`},
  {
    name: "trigger",
    label: t("field.lateness"),
    kind: "number",
    cell: (run) => durationText(spanMs(run.trigger_time, run.started_at)) || "–",
  },
  {
    name: "lease",
    label: t("field.lease_until"),
    cell: (run) =>
      html`<span title=${t("help.lease")}>${run.lease_until ? html`<${Relative} at=${run.lease_until} />` : "–"}</span>`,
  },
  {
    name: "act",
    label: "",
    kind: "tight",
    cell: (run) => html`<div class="actions"><${Act} group=${run.group} kind="small danger" icon="stop"
    label=${t("act.kill")} onClick=${() => act(run, "kill")} /></div>`,
  },
];

function PriorityDialog({run, onClose, onDone}) {
  const [value, setValue] = useState(String(run.priority ?? 100));
  const submit = async () => {
    try {
      await post(runPath(run.job_id) + ":priority", {priority: Number(value)});
      toast("good", t("done.priority", {n: value}));
      onDone();
      onClose();
    } catch (error) {
      toast("bad", error.message);
    }
  };
  return html`<${Dialog} title=${t("act.priority")} onClose=${onClose} onSubmit=${submit}
    actions=${html`<${Button} label=${t("act.back")} onClick=${onClose} /><button type="submit" class="button primary">${t("act.save")}</button>`}>
    <${TextField} label=${t("field.priority")} type="number" value=${value} onInput=${setValue} help=${t("help.priority")} autofocus /></${Dialog}>`;
}

function Chosen({chosen, setChosen, list, action, filter, name}) {
  const [isAll, setAll] = useState(false);
  useEffect(() => setAll(false), [chosen.size]);
  if (chosen.size === 0) return null;
  const run = async () => {
    const target = isAll ? {filter: {...filter, list: name}} : {items: [...chosen].map((id) => ({job_id: id}))};
    if (await actOnMany("run", {action, ...target}, isAll ? (list.total ?? null) : chosen.size)) {
      setChosen(new Set());
      list.reload();
    }
  };
  return html`<div class="bulk" role="region" aria-label=${t("table.chosen", {n: chosen.size})}>
    <strong>${isAll ? t("queues.all_chosen") : t("table.chosen", {n: chosen.size})}</strong>
    ${list.next && chosen.size >= list.items.length && !isAll && html`<${Button} kind="quiet small" label=${t("queues.choose_matching")} onClick=${() => setAll(true)} />`}
    <${Act} need=${action === "cancel" ? "editor" : "operator"} kind="danger" label=${t("act." + action)} onClick=${run} />
    <${Button} kind="quiet" icon="cross" label=${t("table.choose_none")} onClick=${() => setChosen(new Set())} /></div>`;
}

export default function Queue({route}) {
  const name = route.parts[0];
  const isWaiting = name === "waiting";
  const {group, task_id: taskId, page} = route.query;
  const [chosen, setChosen] = useState(new Set());
  // What somebody chooses from must not move.
  const list = useList(
    "/runs/" + name,
    {group, task_id: taskId, page, page_size: 100},
    {on: chosen.size ? [] : ["run.started", "run.ended", "stats"]},
  );
  const [moving, setMoving] = useState(null);
  const canMove = useOperations()("POST /runs/{job_id}:priority");
  useEffect(() => setChosen(new Set()), [JSON.stringify(route.query)]);
  const act = async (run, action) => {
    if (await actOnRun(run, action)) list.reload();
  };
  return html`<${Page} title=${t("nav." + name)} sub=${t(name + ".sub")}>
    <${Filters} names=${["group", "task_id"]}><${GroupFilter} /><${TextFilter} name="task_id" label=${t("field.task_id")} isMain /></${Filters}>
    <${Chosen} chosen=${chosen} setChosen=${setChosen} list=${list} action=${isWaiting ? "cancel" : "kill"} filter=${{group, task_id: taskId}} name=${name} />
    <${ListTable} label=${t("nav." + name)} list=${list} keyOf=${(run) => run.job_id} open=${(run) => runAddress(run.job_id)}
      columns=${isWaiting ? waitingColumns(act, setMoving, canMove) : executingColumns(act)} choice=${{keys: chosen, onChange: setChosen}}
      empty=${html`<${Empty} text=${t(name + ".none")}><pre>jobclient submit --shell 'sleep 30; echo done'</pre></${Empty}>`} />
    ${moving && html`<${PriorityDialog} run=${moving} onClose=${() => setMoving(null)} onDone=${list.reload} />`}</${Page}>`;
}
