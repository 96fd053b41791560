// How the cluster does: now, and over the last minutes, day or week.
import {html, useMemo} from "../lib/html.js";
import {useFetch} from "../lib/fetching.js";
import {durationText, localTime, numberText} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {jobAddress, runAddress, setQuery, to} from "../lib/router.js";
import {Empty, Fetched, Figure, Page, Panel, Time} from "../ui/basics.js";
import {Chart} from "../ui/chart.js";
import {Meter} from "../ui/strip.js";
import {Status} from "../ui/status.js";
import {Table} from "../ui/table.js";

const kRanges = ["15m", "24h", "7d"];
const kEvents = ["run.ended", "stats", "node.joined", "node.lost"];
const ms = (value) => durationText(value);
const axisMs = (value) => (value < 1000 ? `${numberText(value)} ms` : `${numberText(value / 1000, 1)} s`);

function Figures({now}) {
  const lateness = now.lateness ?? {};
  const due = (now.backlog ?? []).reduce((sum, group) => sum + Number(group.due ?? 0), 0);
  return html`<div class="figures">
    <${Figure} label=${t("overview.rate")} value=${numberText(now.jobs_per_second, 1)} sub=${t("overview.rate_sub")} />
    <${Figure} label=${t("overview.lateness")} value=${durationText(lateness.p50_ms) || "–"}
      sub=${`p95 ${durationText(lateness.p95_ms) || "–"} · p99 ${durationText(lateness.p99_ms) || "–"}`} />
    <${Figure} label=${t("overview.failures")} value=${numberText(now.failures_1h)} tone=${now.failures_1h > 0 ? "bad" : ""}
      sub=${t("overview.last_hour")} href=${to(["history"], {state: "failed,timed_out,killed,lost"})} />
    <${Figure} label=${t("overview.due")} value=${numberText(due)} sub=${t("overview.due_sub")} href=${to(["waiting"])} />
    <${Figure} label=${t("overview.workers")} value=${numberText(now.workers)} href=${to(["groups"], {tab: "nodes"})}
      tone=${now.workers === 0 ? "bad" : ""} sub=${t("overview.threads_sub", {free: numberText(now.free), threads: numberText(now.threads)})} />
  </div>`;
}

function Charts({range}) {
  const figures = useFetch("/figures", {range}, {on: range === "15m" ? ["stats", "run.ended"] : []});
  return html`<${Fetched} from=${figures}>${(data) => {
    const points = data.points ?? [];
    if (points.length === 0) return html`<${Empty} text=${t("overview.no_figures")} />`;
    const times = points.map((point) => Date.parse(point.at) / 1000);
    const values = (name) => points.map((point) => point[name] ?? null);
    return html`<div class="columns charts">
      <figure><figcaption>${t("overview.chart_runs")}</figcaption><${Chart} label=${t("overview.chart_runs")} times=${times} isWhole format=${(n) => numberText(n)}
        series=${[
          {label: t("overview.ended"), values: values("ended"), color: "--good"},
          {label: t("overview.failed"), values: values("failed"), color: "--bad", dash: [6, 3]},
        ]} /></figure>
      <figure><figcaption>${t("overview.chart_lateness")}</figcaption><${Chart} label=${t("overview.chart_lateness")} times=${times} format=${ms} axisFormat=${axisMs}
        series=${[
          {label: "p50", values: values("lateness_p50_ms"), color: "--accent"},
          {label: "p95", values: values("lateness_p95_ms"), color: "--warn", dash: [6, 3]},
          {label: "p99", values: values("lateness_p99_ms"), color: "--bad", dash: [2, 3]},
        ]} /></figure>
      <figure><figcaption>${t("overview.chart_backlog")}</figcaption><${Chart} label=${t("overview.chart_backlog")} times=${times} isWhole format=${(n) => numberText(n)}
        series=${[{label: t("overview.backlog"), values: values("backlog"), color: "--run", fill: "--run-soft"}]} /></figure>
      <figure><figcaption>${t("overview.chart_started")}</figcaption><${Chart} label=${t("overview.chart_started")} times=${times} isWhole format=${(n) => numberText(n)}
        series=${[
          {label: t("overview.submitted"), values: values("submitted"), color: "--hold"},
          {label: t("overview.started"), values: values("started"), color: "--accent", dash: [6, 3]},
        ]} /></figure></div>`;
  }}</${Fetched}>`;
}

function Backlog({groups}) {
  const rows = [...groups].sort((a, b) => (b.due ?? 0) - (a.due ?? 0)).slice(0, 12);
  const most = Math.max(1, ...rows.map((row) => Number(row.due ?? 0)));
  return html`<${Table} label=${t("overview.backlog_by_group")} rows=${rows} keyOf=${(row) => row.group}
    open=${(row) => to(["waiting"], {group: row.group})} empty=${html`<${Empty} text=${t("overview.no_backlog")} />`}
    columns=${[
      {
        name: "group",
        label: t("field.group"),
        kind: "name",
        cell: (row) => html`<a href=${to(["groups", row.group])}>${row.group}</a>`,
      },
      {
        name: "due",
        label: t("field.due"),
        cell: (row) => html`<${Meter} value=${row.due} max=${most} label=${t("field.due")}
        text=${numberText(row.due)} tone=${row.due > 1000 ? "warn" : "accent"} />`,
      },
      {name: "waiting", label: t("field.waiting"), kind: "number", cell: (row) => numberText(row.waiting)},
    ]} />`;
}

function NextHour({fires}) {
  const times = useMemo(() => fires.map((one) => Date.parse(one.at) / 1000), [fires]);
  const total = fires.reduce((sum, one) => sum + Number(one.fires ?? 0), 0);
  if (total === 0) return html`<${Empty} text=${t("overview.no_fires")} />`;
  const peak = fires.reduce((best, one) => (one.fires > best.fires ? one : best), fires[0]);
  return html`<p class="faint">${t("overview.fires_text", {n: numberText(total), peak: numberText(peak.fires), at: localTime(peak.at).slice(-8, -3)})}
    ${" "}<a href=${to(["calendar"])}>${t("overview.open_calendar")}</a></p>
    <${Chart} label=${t("overview.next_hour")} times=${times} isWhole bars height=${120} format=${(n) => numberText(n)}
      series=${[{label: t("field.fires"), values: fires.map((one) => one.fires), color: "--accent", fill: "--accent-soft"}]} />`;
}

function Failures({runs}) {
  return html`<${Table} label=${t("overview.last_failures")} rows=${runs} keyOf=${(run) => run.job_id + ":" + run.attempt}
    open=${(run) => runAddress(run.job_id)} empty=${html`<${Empty} text=${t("overview.no_failures")} />`}
    columns=${[
      {
        name: "task",
        label: t("field.task_id"),
        kind: "name",
        cell: (run) => html`<a href=${jobAddress(run.group, run.task_id)}>${run.task_id}</a>
        <span class="sub">${run.group}</span>`,
      },
      {name: "state", label: t("field.state"), cell: (run) => html`<${Status} state=${run.state} />`},
      {
        name: "ended",
        label: t("field.ended_at"),
        cell: (run) => html`<a href=${runAddress(run.job_id)}><${Time} at=${run.ended_at} /></a>`,
      },
      {
        name: "message",
        label: t("field.message"),
        kind: "grow",
        cell: (run) => html`<span class="message">${run.message}</span>`,
      },
    ]} />`;
}

export default function Overview({route}) {
  const range = kRanges.includes(route.query.range) ? route.query.range : "15m";
  const overview = useFetch("/overview", {}, {on: kEvents});
  const choice = html`<div class="choice-row" role="group" aria-label=${t("overview.range")}>${kRanges.map(
    (name) =>
      html`<button type="button" class=${"button" + (name === range ? " primary" : "")} aria-pressed=${name === range ? "true" : "false"}
      onClick=${() => setQuery({range: name === "15m" ? "" : name})}>${t("overview.range_" + name)}</button>`,
  )}</div>`;
  return html`<${Page} title=${t("nav.overview")}>
    <${Fetched} from=${overview}>${(now) => html`<${Figures} now=${now} />`}</${Fetched}>
    <${Panel} title=${t("overview.figures")} actions=${choice}><${Charts} range=${range} key=${range} /></${Panel}>
    ${
      overview.data &&
      html`<div class="columns two-one">
      <${Panel} title=${t("overview.last_failures")} kind="flush" actions=${html`<a href=${to(["history"], {state: "failed,timed_out,killed,lost"})}>
        ${t("overview.all_failures")}</a>`}><${Failures} runs=${overview.data.last_failures ?? []} /></${Panel}>
      <div><${Panel} title=${t("overview.next_hour")}><${NextHour} fires=${overview.data.next_hour ?? []} /></${Panel}>
        <${Panel} title=${t("overview.backlog_by_group")} kind="flush"><${Backlog} groups=${overview.data.backlog ?? []} /></${Panel}></div></div>`
    }
  </${Page}>`;
}
