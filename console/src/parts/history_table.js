// Ended attempts and fires that did not run.
import {html} from "../lib/html.js";
import {durationText, nodeText, numberText, spanMs} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {jobAddress, runAddress} from "../lib/router.js";
import {Empty, Time} from "../ui/basics.js";
import {Status} from "../ui/status.js";
import {ListTable} from "../ui/table.js";

export const keyOfRun = (run) => `${run.job_id}:${run.attempt}:${run.shard ?? ""}`;

const Shard = ({run}) =>
  run.shard === undefined || run.shard === null
    ? null
    : html`<span class="badge tone-note">${t("run.shard", {n: run.shard, total: run.shard_total ?? "?"})}</span>`;

function columns(hideTask) {
  return [
    !hideTask && {
      name: "task",
      label: t("field.task_id"),
      kind: "name",
      cell: (run) => html`<a href=${jobAddress(run.group, run.task_id)}>${run.task_id}</a>
      <span class="sub">${run.group}</span>`,
    },
    {
      name: "state",
      label: t("field.state"),
      cell: (run) => html`<${Status} state=${run.state} />
      ${run.count > 1 && html` <span class="badge tone-mute">× ${numberText(run.count)}</span>`} <${Shard} run=${run} />`,
    },
    {
      name: "run",
      label: t("field.job_id"),
      cell: (run) => html`<a class="mono nowrap" href=${runAddress(run.job_id)}>${run.job_id}</a>
      ${run.attempt > 1 && html`<span class="sub">${t("run.attempt_n", {n: run.attempt})}</span>`}`,
    },
    {name: "trigger", label: t("field.trigger_time"), cell: (run) => html`<${Time} at=${run.trigger_time} />`},
    {
      name: "lateness",
      label: t("field.lateness"),
      kind: "number",
      cell: (run) => (run.attempt ? durationText(run.lateness_ms) || "–" : "–"),
    },
    {
      name: "duration",
      label: t("field.duration"),
      kind: "number",
      cell: (run) => durationText(spanMs(run.started_at, run.ended_at)) || "–",
    },
    {
      name: "node",
      label: t("field.node"),
      cell: (run) =>
        run.node
          ? html`<span class=${run.node.length < 30 ? "nowrap" : "break"} title=${run.node}>${nodeText(run.node)}</span>`
          : "–",
    },
    {
      name: "message",
      label: t("field.message"),
      kind: "grow",
      cell: (run) =>
        (run.exit_code || run.message) &&
        html`${
          run.exit_code !== null &&
          run.exit_code !== undefined &&
          run.exit_code !== 0 &&
          !(run.message ?? "").includes("exit status") &&
          html`<span class="sub">${t("run.exit_code", {code: run.exit_code})}</span>`
        }<span class="message">${run.message}</span>`,
    },
  ];
}

export function HistoryTable({list, hideTask = false, choice, empty}) {
  return html`<${ListTable} label=${t("nav.history")} list=${list} columns=${columns(hideTask)} keyOf=${keyOfRun} choice=${choice}
    open=${(run) => runAddress(run.job_id)} empty=${empty ?? html`<${Empty} text=${t("history.none")} />`} />`;
}
