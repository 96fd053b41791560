// The fires of the coming day: by minute and group, with peaks and the clocks' changes.
import {html, useMemo, useState} from "../lib/html.js";
import {useFetch} from "../lib/fetching.js";
import {hasOffset, localTime, numberText, utcTime} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {jobAddress, setQuery, to} from "../lib/router.js";
import {Button, Empty, Fetched, Figure, Page, Panel, Time} from "../ui/basics.js";
import {Filters, GroupFilter} from "../ui/filters.js";
import {Table} from "../ui/table.js";

const kMinute = 60000;
const kHours = 24;
const kCell = 10;
const kLevels = 6;

/// Rows of hours, 60 cells each, in local time.
function hoursOf(minutes, from) {
  const byMinute = new Map();
  for (const one of minutes) {
    const at = Math.floor(Date.parse(one.at) / kMinute) * kMinute;
    const cell = byMinute.get(at) ?? {at, fires: 0, groups: []};
    cell.fires += Number(one.fires ?? 0);
    cell.groups.push(one);
    byMinute.set(at, cell);
  }
  const hours = [];
  for (let hour = 0; hour < kHours; ++hour) {
    const start = from + hour * 60 * kMinute;
    const cells = Array.from(
      {length: 60},
      (_, minute) => byMinute.get(start + minute * kMinute) ?? {at: start + minute * kMinute, fires: 0, groups: []},
    );
    hours.push({
      start,
      cells,
      total: cells.reduce((sum, cell) => sum + cell.fires, 0),
      peak: Math.max(...cells.map((cell) => cell.fires)),
    });
  }
  return hours;
}

const level = (fires, most) =>
  fires === 0 ? 0 : Math.max(1, Math.round((Math.log(fires) / Math.log(Math.max(2, most))) * kLevels));

function Hour({hour, most, chosen, change}) {
  const label = localTime(new Date(hour.start).toISOString(), {isLong: true});
  const clock = label.slice(-8, -3);
  const name = t("calendar.hour", {at: clock, n: numberText(hour.total), peak: numberText(hour.peak)});
  return html`${clock === "00:00" && html`<div class="day number">${label.slice(0, 10)}</div>`}
    <div class="hour"><button type="button" class="hour-label number" title=${name} aria-label=${name} onClick=${() => change(hour.cells.find((cell) => cell.fires === hour.peak).at)}>${clock}</button>
    <svg viewBox=${`0 0 ${60 * kCell} 18`} preserveAspectRatio="none" role="img" aria-label=${name}>
      ${hour.cells.map(
        (cell, index) => html`<rect key=${index} x=${index * kCell + 0.5} y="0.5" width=${kCell - 1} height="17" rx="1"
        class=${`heat heat-${level(cell.fires, most)}${chosen === cell.at ? " chosen" : ""}`} onClick=${() => cell.fires && change(cell.at)}>
        <title>${`${localTime(new Date(cell.at).toISOString()).slice(0, -3)} · ${t("calendar.fires", {n: cell.fires})}`}</title></rect>`,
      )}</svg>
    <span class="hour-total number faint">${numberText(hour.total)}</span></div>`;
}

/// One row for each job, with how often it fires.
function byJob(fires) {
  const jobs = new Map();
  for (const one of fires) {
    const key = `${one.group}/${one.task_id}`;
    const known = jobs.get(key);
    if (known) known.fires += one.fires ?? 1;
    else jobs.set(key, {...one, fires: one.fires ?? 1});
  }
  return [...jobs.values()];
}

function JobsOfMinute({at, group}) {
  const found = useFetch("/calendar", {minute: new Date(at).toISOString(), group});
  return html`<${Panel} kind="flush" title=${t("calendar.minute", {at: localTime(new Date(at).toISOString())})} note=${hasOffset(new Date(at).toISOString()) && utcTime(new Date(at).toISOString(), {isLong: false})}
    actions=${html`<${Button} kind="quiet small" icon="cross" hideLabel label=${t("act.close")} onClick=${() => setQuery({minute: ""})} />`}>
    <${Fetched} from=${found}>${(data) => html`
      ${data.is_complete === false && html`<p class="notice warn">${t("calendar.incomplete")}</p>`}
      <${Table} label=${t("nav.jobs")} rows=${byJob(data.jobs ?? data.items ?? [])} keyOf=${(job) => `${job.group}/${job.task_id}`}
        open=${(job) => jobAddress(job.group, job.task_id)} empty=${html`<${Empty} text=${t("calendar.no_jobs")} />`} columns=${[
          {
            name: "task",
            label: t("field.task_id"),
            kind: "name",
            cell: (job) =>
              html`<a href=${jobAddress(job.group, job.task_id)}>${job.task_id}</a><span class="sub">${job.group}</span>`,
          },
          {name: "first", label: t("field.time"), cell: (job) => job.at && html`<${Time} at=${job.at} />`},
          {name: "fires", label: t("field.fires"), kind: "number", cell: (job) => numberText(job.fires)},
        ]} />`}</${Fetched}></${Panel}>`;
}

/// The busiest minutes, for those who cannot see or point at the map.
function Peaks({hours}) {
  const peaks = hours
    .flatMap((hour) => hour.cells)
    .filter((cell) => cell.fires > 0)
    .sort((a, b) => b.fires - a.fires)
    .slice(0, 8);
  return html`<${Panel} title=${t("calendar.peaks")} kind="flush"><${Table} label=${t("calendar.peaks")} rows=${peaks} keyOf=${(cell) => cell.at} columns=${[
    {
      name: "at",
      label: t("field.time"),
      cell: (cell) => html`<a href=${to(["calendar"], {minute: new Date(cell.at).toISOString()})}>
      ${localTime(new Date(cell.at).toISOString()).slice(0, -3)}</a>`,
    },
    {name: "fires", label: t("field.fires"), kind: "number", cell: (cell) => numberText(cell.fires)},
    {
      name: "groups",
      label: t("groups.tab_groups"),
      kind: "grow",
      cell: (cell) =>
        [...cell.groups]
          .sort((a, b) => b.fires - a.fires)
          .slice(0, 3)
          .map((one) => `${one.group} ${numberText(one.fires)}`)
          .join(", "),
    },
  ]} /></${Panel}>`;
}

export default function Calendar({route}) {
  const {group, minute} = route.query;
  const [start] = useState(() => Math.floor(Date.now() / (60 * kMinute)) * 60 * kMinute);
  const from = new Date(start).toISOString();
  const until = new Date(start + kHours * 60 * kMinute).toISOString();
  const found = useFetch("/calendar", {from, to: until, group}, {on: ["job.changed"]});
  const hours = useMemo(() => hoursOf(found.data?.minutes ?? [], start), [found.data, start]);
  const total = hours.reduce((sum, hour) => sum + hour.total, 0);
  const most = Math.max(1, ...hours.map((hour) => hour.peak));
  const change = (at) => setQuery({minute: new Date(at).toISOString()});
  const chosen = minute ? Date.parse(minute) : null;
  const busiest = hours
    .flatMap((hour) => hour.cells)
    .reduce((best, cell) => (cell.fires > best.fires ? cell : best), {fires: 0});
  return html`<${Page} title=${t("nav.calendar")} sub=${t("calendar.sub")}>
    <${Filters} names=${["group"]}><${GroupFilter} /></${Filters}>
    <${Fetched} from=${found}>${(data) => html`
      ${data.is_complete === false && html`<p class="notice warn">${t("calendar.incomplete")}</p>`}
      ${(data.dst ?? []).map(
        (
          change,
        ) => html`<div class="notice warn" key=${change.zone}><div><strong>${t("calendar.dst")}</strong> ${" "}${change.zone}: ${change.change}
        ${" "}(${localTime(change.at)}, ${utcTime(change.at)})</div></div>`,
      )}
      <div class="figures"><${Figure} label=${t("calendar.total")} value=${numberText(total)} />
        <${Figure} label=${t("calendar.busiest")} value=${numberText(busiest.fires)} sub=${busiest.at ? localTime(new Date(busiest.at).toISOString()).slice(0, -3) : ""} />
        <${Figure} label=${t("calendar.per_minute")} value=${numberText(total / (kHours * 60), 1)} /></div>
      ${
        total === 0
          ? html`<${Empty} text=${t("calendar.none")}><pre>jobclient submit --task-id nightly --cron '0 0 2 * * ?' -- backup</pre></${Empty}>`
          : html`<div class="columns two-one"><${Panel} title=${t("calendar.map")} note=${t("calendar.map_note")}>
          <div class="heat-axis faint number" aria-hidden="true">${[0, 15, 30, 45].map((at) => html`<span>:${String(at).padStart(2, "0")}</span>`)}</div>
          ${hours.map((hour) => html`<${Hour} key=${hour.start} hour=${hour} most=${most} chosen=${chosen} change=${change} />`)}
          <div class="heat-legend faint">${t("calendar.few")} ${Array.from(
            {length: kLevels},
            (_, index) => html`<svg width="16" height="12" aria-hidden="true">
            <rect width="16" height="12" rx="1" class=${`heat heat-${index + 1}`} /></svg>`,
          )} ${t("calendar.many", {n: numberText(most)})}</div></${Panel}>
        <div>${chosen && html`<${JobsOfMinute} at=${chosen} group=${group} key=${chosen} />`}<${Peaks} hours=${hours} /></div></div>`
      }`}</${Fetched}></${Page}>`;
}
