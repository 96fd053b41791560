// One run: its attempts on a line of time, and its output.
import {html, useState} from "../lib/html.js";
import {runPath} from "../lib/api.js";
import {useFetch} from "../lib/fetching.js";
import {t} from "../lib/i18n.js";
import {jobAddress, runAddress, to} from "../lib/router.js";
import {actOnRun, rerun} from "../actions.js";
import {Output} from "../parts/output.js";
import {RerunDialog} from "../parts/rerun.js";
import {AttemptCard, Timeline} from "../parts/timeline.js";
import {Act, Code, Empty, Fetched, Page, Panel, Time} from "../ui/basics.js";
import {Status} from "../ui/status.js";
import {Table} from "../ui/table.js";
import {durationText, nodeText, spanMs} from "../lib/format.js";

function Shards({shards}) {
  return html`<${Panel} title=${t("run.shards", {n: shards.length})} kind="flush"><${Table} label=${t("run.shards", {n: shards.length})} rows=${shards}
    keyOf=${(shard) => `${shard.shard}:${shard.attempt}`} columns=${[
      {name: "shard", label: t("field.shard"), cell: (shard) => `${shard.shard} / ${shard.shard_total ?? "?"}`},
      {name: "state", label: t("field.state"), cell: (shard) => html`<${Status} state=${shard.state} />`},
      {
        name: "node",
        label: t("field.node"),
        cell: (shard) => html`<span class="nowrap" title=${shard.node}>${nodeText(shard.node)}</span>`,
      },
      {name: "attempt", label: t("field.attempt"), kind: "number", cell: (shard) => shard.attempt},
      {name: "started", label: t("field.started_at"), cell: (shard) => html`<${Time} at=${shard.started_at} />`},
      {
        name: "duration",
        label: t("field.duration"),
        kind: "number",
        cell: (shard) => durationText(spanMs(shard.started_at, shard.ended_at)) || "–",
      },
      {
        name: "message",
        label: t("field.message"),
        kind: "grow",
        cell: (shard) => html`<span class="message">${shard.message}</span>`,
      },
    ]} /></${Panel}>`;
}

function Actions({run, isLive, onRerun, reload}) {
  const act = (action) => async () => {
    if (await actOnRun(run, action)) reload();
  };
  const isWaiting = ["waiting", "delayed", "suspended", "quarantined"].includes(run.state);
  return html`${isLive && html`<${Act} group=${run.group} kind="danger" icon="stop" label=${t("act.kill")} onClick=${act("kill")} />`}
    ${
      isWaiting &&
      html`<${Act} group=${run.group} icon="play" label=${t("act.run_now")} onClick=${act("trigger")} />
      ${
        ["suspended", "quarantined"].includes(run.state)
          ? html`<${Act} group=${run.group} label=${t("act.resume")} onClick=${act("resume")} />`
          : html`<${Act} group=${run.group} icon="pause" label=${t("act.suspend")} onClick=${act("suspend")} />`
      }
      <${Act} need="editor" group=${run.group} kind="danger" label=${t("act.cancel")} onClick=${act("cancel")} />`
    }
    ${!isLive && !isWaiting && html`<${Act} group=${run.group} kind="primary" icon="refresh" label=${t("act.rerun")} onClick=${onRerun} />`}`;
}

/// The attempt that waits or runs: it is in a queue, not in the history yet.
function useCurrent(run, isLive) {
  const path = !run || run.done ? null : isLive ? "/runs/executing" : "/runs/waiting";
  const found = useFetch(path, run ? {group: run.group, job_id: run.job_id} : {}, {on: ["run.started", "run.ended"]});
  return (found.data?.items ?? []).find((one) => one.job_id === run?.job_id) ?? null;
}

function withCurrent(attempts, current) {
  if (!current || attempts.some((one) => one.attempt === current.attempt)) return attempts;
  return [...attempts, {...current, state: "executing", lateness_ms: spanMs(current.trigger_time, current.started_at)}];
}

export default function RunPage({route}) {
  const jobId = route.parts[1] ?? "";
  const found = useFetch(runPath(jobId), {}, {on: ["run.started", "run.ended"]});
  const [isAgain, setAgain] = useState(false);
  const run = found.data && {...found.data, job_id: found.data.job_id ?? jobId};
  const isLive = run ? run.state === "executing" || run.state === "running" : false;
  const current = useCurrent(run, isLive);
  const title = t("run.title", {id: jobId});
  return html`<${Page} title=${title} crumbs=${[
    [t("nav.history"), to(["history"])],
    ...(run ? [[run.task_id, jobAddress(run.group, run.task_id)]] : []),
  ]}
      sub=${run && html`<${Status} state=${run.state} /><a href=${jobAddress(run.group, run.task_id)}>${run.task_id}</a><span>${run.group}</span>`}
      actions=${run && html`<${Actions} run=${run} isLive=${isLive} onRerun=${() => setAgain(true)} reload=${found.reload} />`}>
    <${Fetched} from=${{...found, data: run}}>${() => {
      const all = withCurrent(run.attempts ?? [], isLive && current);
      const shards = all.filter((one) => one.shard !== undefined && one.shard !== null);
      const attempts = shards.length ? all.filter((one) => !shards.includes(one)) : all;
      const chosen = attempts.find((one) => String(one.attempt) === route.query.attempt) ?? attempts.at(-1);
      return html`<div class="run-columns">
        <div>${
          attempts.length === 0
            ? html`<${Panel} title=${t("run.attempts")}><${Empty} text=${t("run.no_attempts")} />
            ${current?.due_time && html`<p class="faint">${t("run.due")} <${Time} at=${current.due_time} relative /></p>`}</${Panel}>`
            : html`<${Panel} title=${t("run.attempts")}><${Timeline} attempts=${attempts} /><ol class="attempts">${[
                ...attempts,
              ]
                .reverse()
                .map(
                  (one) =>
                    html`<${AttemptCard} key=${one.attempt} attempt=${one} isShown=${one === chosen && attempts.length > 1}
              href=${runAddress(jobId, attempts.length > 1 ? {attempt: String(one.attempt)} : {})} />`,
                )}</ol></${Panel}>`
        }
        ${
          run.spec &&
          html`<details class="panel fold"><summary>${t("job.tab_spec")}</summary>
          <${Code} text=${JSON.stringify(run.spec, null, 2)} label=${t("job.tab_spec")} /></details>`
        }</div>
        <div>${shards.length > 0 && html`<${Shards} shards=${shards} />`}
          <${Panel} title=${t("output.title")} kind="flush" note=${chosen?.attempt && attempts.length > 1 ? t("run.attempt_n", {n: chosen.attempt}) : ""}>
            <${Output} run=${run} isLive=${isLive && (!chosen || chosen === attempts.at(-1))}
              attempt=${attempts.length > 1 ? chosen?.attempt : undefined} key=${jobId + (route.query.attempt ?? "")} /></${Panel}></div></div>`;
    }}</${Fetched}>
    ${
      isAgain &&
      html`<${RerunDialog} title=${t("rerun.title")} text=${t("rerun.text", {name: run.task_id})} group=${run.group}
      payload=${run.spec?.payload ?? ""} onRun=${(payload) => rerun(run, payload)} onClose=${() => setAgain(false)} />`
    }</${Page}>`;
}
