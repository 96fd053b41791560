// The job trackers: ownership, counters, configuration in force.
import {html, useState} from "../lib/html.js";
import {useFetch} from "../lib/fetching.js";
import {durationText, numberText} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {to} from "../lib/router.js";
import {refusal, useSession} from "../lib/session.js";
import {Empty, Fetched, Facts, Page, Panel, Tabs, Time} from "../ui/basics.js";
import {TextField} from "../ui/form.js";
import {Table} from "../ui/table.js";

const kMasked = /^(\*+|•+|<hidden>|hidden)$/;
const countOf = (value) => (Array.isArray(value) ? value.length : value);

function Trackers() {
  const found = useFetch("/trackers", {}, {on: ["stats"]});
  return html`<${Fetched} from=${found}>${(
    data,
  ) => html`<${Table} label=${t("cluster.trackers")} rows=${data.items ?? []} keyOf=${(one) => one.name}
    empty=${html`<${Empty} text=${t("cluster.none")} />`} columns=${[
      {
        name: "name",
        label: t("field.name"),
        kind: "name",
        cell: (
          one,
        ) => html`<strong>${one.name}</strong>${one.is_self && html` <span class="badge tone-note">${t("cluster.self")}</span>`}
        <span class="sub mono break">${one.address}</span>`,
      },
      {
        name: "age",
        label: t("cluster.session_age"),
        isOptional: true,
        cell: (one) =>
          typeof one.session_age === "number" ? durationText(one.session_age * 1000) : (one.session_age ?? "–"),
      },
      {
        name: "groups",
        label: t("cluster.groups"),
        kind: "number",
        isOptional: true,
        cell: (one) =>
          one.groups &&
          html`<span title=${Array.isArray(one.groups) ? one.groups.join(", ") : undefined}>${numberText(countOf(one.groups))}</span>`,
      },
      {
        name: "partitions",
        label: t("field.parts"),
        kind: "number",
        isOptional: true,
        cell: (one) =>
          one.partitions &&
          html`<span title=${Array.isArray(one.partitions) ? one.partitions.join(", ") : undefined}>${numberText(countOf(one.partitions))}</span>`,
      },
      {
        name: "batch",
        label: t("cluster.batch"),
        kind: "number",
        isOptional: true,
        cell: (one) => durationText(one.batch_p95_ms) || "–",
      },
      {name: "version", label: t("field.version"), cell: (one) => one.version},
    ]} />`}</${Fetched}>`;
}

function Store({stats}) {
  const {server} = useSession();
  const config = useFetch(refusal("admin") ? null : "/config");
  const setting = (name) => (config.data?.items ?? []).find((one) => one.name === name)?.value;
  const time =
    stats.data &&
    Object.entries(stats.data)
      .filter(([name, value]) => /batch|commit|store/.test(name) && typeof value !== "object")
      .slice(0, 12);
  return html`<${Panel} title=${t("cluster.store")}><${Facts} items=${[
    [t("cluster.store_address"), setting("store") ?? setting("database")],
    [t("field.version"), server?.version],
    [t("cluster.server_time"), server?.time && html`<${Time} at=${server.time} utc />`],
    ...(time ?? []).map(([name, value]) => [
      html`<span class="mono">${name}</span>`,
      typeof value === "number" ? numberText(value, 3) : String(value),
    ]),
  ]} /></${Panel}>`;
}

function flat(object, prefix = "") {
  return Object.entries(object ?? {}).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? flat(value, prefix + name + ".")
      : [{name: prefix + name, value}],
  );
}

function NamedValues({label, rows, hasSource}) {
  const [text, setText] = useState("");
  const shown = rows.filter((row) => `${row.name} ${row.value}`.toLowerCase().includes(text.toLowerCase()));
  const columns = [
    {
      name: "name",
      label: t("field.name"),
      kind: "name",
      cell: (row) => html`<span class="mono break">${row.name}</span>`,
    },
    {
      name: "value",
      label: t("field.value"),
      kind: "grow",
      cell: (row) =>
        kMasked.test(String(row.value))
          ? html`<span class="faint">${t("cluster.masked")}</span>`
          : html`<span class="mono break">${typeof row.value === "number" ? numberText(row.value, 6) : Array.isArray(row.value) ? row.value.join(", ") : String(row.value ?? "")}</span>`,
    },
    hasSource && {name: "source", label: t("cluster.source"), cell: (row) => word("source.", row.source) || "–"},
  ];
  return html`<div class="narrow"><${TextField} label=${t("filter.text")} value=${text} onInput=${setText} type="search" /></div>
    <${Table} label=${label} rows=${shown} keyOf=${(row) => row.name} columns=${columns} empty=${html`<${Empty} text=${t("table.none")} />`} />`;
}

export default function Cluster({route}) {
  const tab = ["counters", "config"].includes(route.query.tab) ? route.query.tab : "trackers";
  const stats = useFetch("/stats", {}, {on: tab === "counters" ? ["stats"] : []});
  const why = refusal("admin");
  const config = useFetch(tab === "config" && !why ? "/config" : null);
  return html`<${Page} title=${t("nav.cluster")}>
    <${Tabs} label=${t("nav.cluster")} current=${tab} items=${["trackers", "counters", "config"].map((name) => [name, t("cluster." + name), to(["cluster"], name === "trackers" ? {} : {tab: name})])} />
    ${tab === "trackers" && html`<${Trackers} /><div class="spaced"><${Store} stats=${stats} /></div>`}
    ${tab === "counters" && html`<${Fetched} from=${stats}>${(data) => html`<${NamedValues} label=${t("cluster.counters")} rows=${flat(data).filter((row) => row.name !== "etag")} />`}</${Fetched}>`}
    ${tab === "config" && why && html`<${Empty} text=${why} />`}${
      tab === "config" &&
      !why &&
      html`<p class="lead">${t("cluster.config_text")}</p><${Fetched} from=${config}>${(data) => html`
      <${NamedValues} label=${t("cluster.config")} rows=${data.items ?? []} hasSource />`}</${Fetched}>`
    }</${Page}>`;
}
