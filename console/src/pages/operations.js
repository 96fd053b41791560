// Actions on many jobs or runs: progress, failures, stop.
import {html} from "../lib/html.js";
import {post} from "../lib/api.js";
import {useFetch} from "../lib/fetching.js";
import {numberText} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {jobAddress} from "../lib/router.js";
import {Act, Empty, Fetched, Page, Time} from "../ui/basics.js";
import {Status} from "../ui/status.js";
import {Meter} from "../ui/strip.js";
import {Table} from "../ui/table.js";

export default function Operations() {
  const found = useFetch("/operations", {}, {on: ["stats", "job.changed", "run.ended"]});
  const stop = async (operation) => {
    await post(`/operations/${encodeURIComponent(operation.id)}:stop`);
    found.reload();
  };
  return html`<${Page} title=${t("operation.title")} sub=${t("operation.sub")}><${Fetched} from=${found}>${(
    data,
  ) => html`
    <${Table} label=${t("operation.title")} rows=${data.items ?? []} keyOf=${(one) => one.id} empty=${html`<${Empty} text=${t("operation.none")} />`} columns=${[
      {
        name: "action",
        label: t("field.action"),
        kind: "name",
        cell: (one) => html`<strong>${word("act.", one.action)}</strong><span class="sub mono">${one.id}</span>`,
      },
      {name: "state", label: t("field.state"), cell: (one) => html`<${Status} state=${one.state} />`},
      {
        name: "done",
        label: t("operation.progress"),
        cell: (one) =>
          html`<${Meter} value=${one.done} max=${one.total || 1} label=${t("operation.progress")} text=${`${numberText(one.done)}/${numberText(one.total)}`} />`,
      },
      {
        name: "failed",
        label: t("overview.failed"),
        kind: "number",
        cell: (one) => html`<span class=${one.failed ? "tone-bad" : ""}>${numberText(one.failed)}</span>`,
      },
      {
        name: "errors",
        label: t("operation.errors"),
        kind: "grow",
        cell: (one) =>
          (one.errors ?? []).slice(0, 5).map(
            (error) => html`<div class="break">
        ${error.task_id && html`<a href=${jobAddress(error.group, error.task_id)}>${error.task_id}</a>: `}${error.detail}</div>`,
          ),
      },
      {
        name: "started",
        label: t("field.started_at"),
        cell: (one) => html`<${Time} at=${one.started_at ?? one.created_at} />`,
      },
      {
        name: "act",
        label: "",
        kind: "tight",
        cell: (one) =>
          one.state === "running" &&
          html`<${Act} kind="small" icon="stop" label=${t("act.stop")} onClick=${() => stop(one)} />`,
      },
    ]} />`}
  </${Fetched}></${Page}>`;
}
