// Everything about one job.
import {html, useState} from "../lib/html.js";
import {jobPath} from "../lib/api.js";
import {useFetch, useList} from "../lib/fetching.js";
import {percentText} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {go, jobAddress, to} from "../lib/router.js";
import {actOnJob} from "../actions.js";
import {AuditTable} from "../parts/audit_table.js";
import {HistoryTable} from "../parts/history_table.js";
import {WhyNot} from "../parts/why_not.js";
import {CleanDialog} from "../parts/clean.js";
import {Fires, usePreview} from "../job/schedule.js";
import {TriggerDialog} from "../job/trigger.js";
import {runKindOf} from "../job/spec.js";
import {scheduleWords} from "../job/words.js";
import {Scripts} from "../job/scripts_tab.js";
import {Act, Code, Empty, Facts, Fetched, Page, Panel, Tabs, Tags, Time} from "../ui/basics.js";
import {Status} from "../ui/status.js";
import {RunStrip} from "../ui/strip.js";
import {Table} from "../ui/table.js";

const kTabs = ["summary", "runs", "spec", "scripts", "children", "alarms", "audit"];

function Schedule({job}) {
  const preview = usePreview(job.spec ?? {});
  const words = scheduleWords(job.spec ?? {});
  const fires =
    job.state === "suspended" || job.state === "quarantined"
      ? []
      : ((job.kind === "cron" ? preview.fires : null) ?? job.next_fires);
  return html`<${Panel} title=${t("job.schedule")}>
    ${words && html`<p class="lead">${words}</p>`}
    <p class="faint">${job.schedule && job.kind !== "at" && html`<span class="mono">${job.schedule}</span> · `}${[
      word("kind.", job.kind),
      job.tz,
      job.dst && t("job.dst", {rule: word("dst.rule_", job.dst)}),
    ]
      .filter(Boolean)
      .join(" · ")}</p>
    ${
      ["suspended", "quarantined"].includes(job.state)
        ? html`<p class="faint">${t("job.no_fires_" + job.state)}</p>`
        : ["cron", "every", "fixed_delay", "at"].includes(job.kind) &&
          html`<h3>${t("schedule.next")}</h3><${Fires} fires=${fires} />`
    }
  </${Panel}>`;
}

function What({spec}) {
  const kind = runKindOf(spec);
  const text = {
    command: () =>
      (spec.command ?? [])
        .map((part) => (/[\s"'\\$]/.test(part) || part === "" ? JSON.stringify(part) : part))
        .join(" "),
    shell: () => spec.shell,
    script: () => spec.script?.source,
    handler: () => spec.handler,
    http: () => `${spec.http?.method ?? "GET"} ${spec.http?.url}`,
  }[kind]?.();
  return html`<${Panel} title=${t("run." + kind)} note=${spec.script?.language}><${Code} text=${text ?? ""} label=${t("run." + kind)} />
    ${spec.payload && html`<h3>${t("field.payload")}</h3><${Code} text=${spec.payload} label=${t("field.payload")} />`}
    ${
      spec.params &&
      html`<h3>${t("field.params")}</h3><${Code} text=${Object.entries(spec.params)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n")}
      label=${t("field.params")} />`
    }</${Panel}>`;
}

function Summary({job}) {
  const runs = useFetch("/runs/history", {group: job.group, task_id: job.task_id, page_size: 40}, {on: ["run.ended"]});
  const spec = job.spec ?? {};
  const retries = typeof spec.retries === "object" ? spec.retries.max : spec.retries;
  return html`<${WhyNot} job=${job} />
    <${Panel} title=${t("job.last_runs")} actions=${html`<a href=${jobAddress(job.group, job.task_id, {tab: "runs"})}>${t("job.all_runs")}</a>`}>
      <${Fetched} from=${runs}>${(data) =>
        (data.items ?? []).length
          ? html`<${RunStrip} runs=${data.items} />
        ${typeof job.success_rate === "number" && html`<p class="faint">${t("job.success_rate", {rate: percentText(job.success_rate)})}</p>`}`
          : html`<${Empty} text=${t("job.no_runs")} />`}</${Fetched}></${Panel}>
    <div class="columns">
      <${Schedule} job=${job} />
      <div><${Panel} title=${t("job.facts")}><${Facts} items=${[
        [t("field.last_fire"), html`<${Time} at=${job.last_fire} utc />`],
        [t("field.last_result"), html`<${Status} state=${job.last_result} />`],
        [t("field.running"), String(job.running ?? 0)],
        [t("field.priority"), String(job.priority ?? 100)],
        [t("field.overlap"), word("overlap.", job.overlap ?? "skip")],
        [t("field.retries"), String(retries ?? 0)],
        [t("field.timeout"), spec.timeout ?? t("text.none")],
        [t("field.start_deadline"), spec.start_deadline],
        [t("field.owner"), job.owner],
        [
          t("field.tags"),
          (job.tags ?? []).length ? html`<${Tags} tags=${job.tags} href=${(tag) => to(["jobs"], {tag})} />` : null,
        ],
        [t("field.alarm"), (spec.alarm ?? []).join(", ")],
        [t("field.dispatch"), spec.dispatch && word("dispatch.", spec.dispatch)],
        [t("field.route"), spec.route],
        [t("field.changed"), job.changed_at && html`<${Time} at=${job.changed_at} />${" "}${job.changed_by}`],
      ]} /></${Panel}><${What} spec=${spec} /></div></div>`;
}

function Runs({job, query}) {
  const list = useList(
    "/runs/history",
    {group: job.group, task_id: job.task_id, page: query.page, page_size: 50},
    {on: ["run.ended"]},
  );
  const executing = useFetch(
    "/runs/executing",
    {group: job.group, task_id: job.task_id},
    {on: ["run.started", "run.ended"]},
  );
  const [isCleaning, setCleaning] = useState(false);
  return html`${
    (executing.data?.items ?? []).length > 0 &&
    html`<${Panel} title=${t("nav.executing")} kind="flush">
      <${HistoryTable} list=${{items: executing.data.items.map((run) => ({...run, state: "executing"})), isLoading: false, reload: executing.reload}} hideTask /></${Panel}>`
  }
    <div class="toolbar"><a class="button" href=${to(["history"], {group: job.group, task_id: job.task_id})}>${t("job.filter_runs")}</a>
      <${Act} need="admin" group=${job.group} kind="danger quiet" label=${t("act.clean")} onClick=${() => setCleaning(true)} /></div>
    <${HistoryTable} list=${list} hideTask />
    ${isCleaning && html`<${CleanDialog} group=${job.group} taskId=${job.task_id} onClose=${() => setCleaning(false)} onDone=${list.reload} />`}`;
}

function Children({job}) {
  const found = useFetch(jobPath(job.group, job.task_id) + "/children");
  return html`<${Fetched} from=${found}>${(
    data,
  ) => html`<${Table} label=${t("job.tab_children")} rows=${data.items ?? []}
    keyOf=${(row) => `${row.direction}/${row.group}/${row.task_id}`} open=${(row) => jobAddress(row.group, row.task_id)}
    empty=${html`<${Empty} text=${t("job.no_children")} />`} columns=${[
      {
        name: "task",
        label: t("field.task_id"),
        kind: "name",
        cell: (row) => html`<a href=${jobAddress(row.group, row.task_id)}>${row.task_id}</a>`,
      },
      {name: "group", label: t("field.group"), cell: (row) => row.group},
      {name: "direction", label: t("job.relation"), cell: (row) => t("job.is_" + row.direction)},
    ]} />`}</${Fetched}>`;
}

function Alarms({job}) {
  const found = useFetch("/alarms", {group: job.group});
  const recipients = job.spec?.alarm ?? [];
  const items = (data) => (data.items ?? []).filter((one) => !one.group || one.group === job.group);
  return html`<p class="lead">${recipients.length ? t("job.alarm_to", {to: recipients.join(", ")}) : t("job.alarm_default")}</p>
    <${Fetched} from=${found}>${(
      data,
    ) => html`<${Table} label=${t("nav.alarms")} rows=${items(data)} keyOf=${(one) => one.id}
      empty=${html`<${Empty} text=${t("alarms.all_ok")} />`} columns=${[
        {name: "state", label: t("field.state"), cell: (one) => html`<${Status} state=${one.state} />`},
        {name: "rule", label: t("field.rule"), cell: (one) => html`<span class="mono">${one.rule}</span>`},
        {name: "message", label: t("field.message"), kind: "grow", cell: (one) => one.message},
        {name: "since", label: t("field.since"), cell: (one) => html`<${Time} at=${one.since} />`},
      ]} />`}</${Fetched}>`;
}

function Audit({job, query}) {
  const list = useList("/audit", {group: job.group, task_id: job.task_id, page: query.page}, {on: ["job.changed"]});
  return html`<${AuditTable} list=${list} hideTask />`;
}

function Actions({job, reload, onTrigger}) {
  const act = (action) => async () => {
    if (!(await actOnJob(job, action))) return;
    // A cancelled job is gone; what it did is in the history.
    if (action === "cancel") go(to(["history"], {group: job.group, task_id: job.task_id}));
    else reload();
  };
  const isHeld = job.state === "suspended" || job.state === "quarantined";
  const {group} = job;
  return html`<${Act} group=${group} kind="primary" icon="play" label=${t("act.trigger")} onClick=${onTrigger} />
    ${
      isHeld
        ? html`<${Act} group=${group} label=${t("act.resume")} onClick=${act("resume")} />`
        : html`<${Act} group=${group} icon="pause" label=${t("act.suspend")} disabled=${job.state === "ended"} onClick=${act("suspend")} />`
    }
    ${job.running > 0 && html`<${Act} group=${group} kind="danger" icon="stop" label=${t("act.kill")} onClick=${act("kill")} />`}
    <${Act} need="editor" group=${group} icon="edit" label=${t("act.edit")} onClick=${() => go(to(["jobs", group, job.task_id, "edit"]))} />
    <${Act} need="editor" icon="copy" label=${t("act.copy")} onClick=${() => go(to(["jobs", "new"], {copy: `${group}/${job.task_id}`}))} />
    <${Act} need="editor" group=${group} kind="danger" label=${t("act.cancel")} disabled=${job.state === "ended"} onClick=${act("cancel")} />`;
}

export default function JobPage({route}) {
  const [, group, taskId] = route.parts;
  const found = useFetch(jobPath(group, taskId), {}, {on: ["job.changed", "run.started", "run.ended"]});
  const [isTriggering, setTriggering] = useState(false);
  const tab = kTabs.includes(route.query.tab) ? route.query.tab : "summary";
  const job = found.data && {...found.data, group: found.data.group ?? group, task_id: found.data.task_id ?? taskId};
  const tabs = kTabs
    .filter((name) => name !== "scripts" || job?.spec?.script || tab === "scripts")
    .map((name) => [name, t("job.tab_" + name), jobAddress(group, taskId, name === "summary" ? {} : {tab: name})]);
  return html`<${Page} title=${taskId} crumbs=${[
    [t("nav.jobs"), to(["jobs"])],
    [group, to(["jobs"], {group})],
  ]}
      sub=${job && html`<${Status} state=${job.state} />${job.description && html`<span>${job.description}</span>`}`}
      actions=${job && html`<${Actions} job=${job} reload=${found.reload} onTrigger=${() => setTriggering(true)} />`}>
    <${Tabs} label=${taskId} items=${tabs} current=${tab} />
    ${
      found.error?.status === 404 &&
      html`<p><a class="button" href=${to(["history"], {group, task_id: taskId})}>${t("job.show_history")}</a></p>`
    }
    <${Fetched} from=${{...found, data: job}}>${() => html`
      ${tab === "summary" && html`<${Summary} job=${job} />`}
      ${tab === "runs" && html`<${Runs} job=${job} query=${route.query} />`}
      ${tab === "spec" && html`<${Code} text=${JSON.stringify(job.spec ?? {}, null, 2)} label=${t("job.tab_spec")} />`}
      ${tab === "scripts" && html`<${Scripts} job=${job} query=${route.query} reload=${found.reload} />`}
      ${tab === "children" && html`<${Children} job=${job} />`}
      ${tab === "alarms" && html`<${Alarms} job=${job} />`}
      ${tab === "audit" && html`<${Audit} job=${job} query=${route.query} />`}`}</${Fetched}>
    ${isTriggering && html`<${TriggerDialog} job=${job} onClose=${() => setTriggering(false)} onDone=${found.reload} />`}</${Page}>`;
}
