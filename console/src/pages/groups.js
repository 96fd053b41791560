// Node groups, their workers and executors.
import {html, useState} from "../lib/html.js";
import {post, remove} from "../lib/api.js";
import {useFetch, useList} from "../lib/fetching.js";
import {durationText, numberText} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {go, to} from "../lib/router.js";
import {Act, Empty, Facts, Fetched, Figure, Page, Panel, Relative, Tabs} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {Filters, GroupFilter} from "../ui/filters.js";
import {Status} from "../ui/status.js";
import {Meter} from "../ui/strip.js";
import {ListTable, Table} from "../ui/table.js";
import {ExecutorsDialog, SplitDialog} from "../parts/group_dialogs.js";

const kEvents = ["node.joined", "node.lost", "stats"];

/// Executors have no threads that the job tracker knows.
const isPushed = (group) => ["push", "executor"].includes(group?.kind);

const groupColumns = () => [
  {
    name: "group",
    label: t("field.group"),
    kind: "name",
    cell: (group) => html`<a href=${to(["groups", group.group])}>${group.group}</a>`,
  },
  {name: "kind", label: t("field.kind"), cell: (group) => word("group_kind.", group.kind)},
  {
    name: "nodes",
    label: t("groups.nodes"),
    kind: "number",
    cell: (group) =>
      html`<span class=${group.nodes === 0 && group.due > 0 ? "tone-bad" : ""}>${numberText(group.nodes)}</span>`,
  },
  {
    name: "threads",
    label: t("field.threads"),
    kind: "number",
    cell: (group) => (isPushed(group) ? "–" : numberText(group.threads)),
  },
  {name: "executing", label: t("field.executing"), kind: "number", cell: (group) => numberText(group.executing)},
  {
    name: "due",
    label: t("field.due"),
    kind: "number",
    cell: (group) => html`<a href=${to(["waiting"], {group: group.group})}>${numberText(group.due)}</a>`,
  },
  {name: "waiting", label: t("field.waiting"), kind: "number", cell: (group) => numberText(group.waiting)},
  {
    name: "lateness",
    label: t("groups.lateness"),
    kind: "number",
    isOptional: true,
    cell: (group) => durationText(group.lateness_p95_ms) || "–",
  },
  {name: "parts", label: t("field.parts"), kind: "number", cell: (group) => numberText(group.parts)},
];

function NodeActions({node, reload}) {
  if (node.kind !== "tasktracker") return null;
  const act = (action) => async () => {
    if (
      action !== "release" &&
      !(await confirm({
        title: t("ask.node_" + action, {name: node.name}),
        text: t(`ask.node_${action}_text`, {name: node.name}),
        action: t("act." + action),
      }))
    )
      return;
    const answer = await post(`/nodes/${encodeURIComponent(node.name)}:${action}`, {group: node.group});
    toast("good", answer.message || t("done.node_" + action, {name: node.name}));
    reload();
  };
  const isHeld = node.state === "draining" || node.state === "isolated";
  return html`<div class="actions">${
    isHeld
      ? html`<${Act} group=${node.group} kind="small" label=${t("act.release")} onClick=${act("release")} />`
      : node.state !== "gone" &&
        html`<${Act} group=${node.group} kind="small" label=${t("act.drain")} onClick=${act("drain")} />
      <${Act} group=${node.group} kind="small" label=${t("act.isolate")} onClick=${act("isolate")} />`
  }</div>`;
}

const labelsOf = (labels) =>
  Array.isArray(labels) ? labels : Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);

const nodeColumns = (reload, hideGroup) => [
  {
    name: "name",
    label: t("field.name"),
    kind: "name",
    cell: (node) => html`<strong>${node.name}</strong><span class="sub mono break">${node.address}</span>`,
  },
  !hideGroup && {
    name: "group",
    label: t("field.group"),
    cell: (node) => html`<a href=${to(["groups", node.group])}>${node.group}</a>`,
  },
  {
    name: "state",
    label: t("field.state"),
    cell: (node) => html`<${Status} state=${node.state} detail=${node.overload || undefined} />
    ${node.overload && html`<span class="sub">${node.overload}</span>`}`,
  },
  {
    name: "load",
    label: t("groups.load"),
    cell: (node) =>
      node.threads
        ? html`<${Meter} label=${t("groups.load")} value=${node.threads - (node.free ?? 0)} max=${node.threads}
    text=${`${node.threads - (node.free ?? 0)}/${node.threads}`} tone=${node.free === 0 ? "warn" : "accent"} />`
        : "–",
  },
  {
    name: "labels",
    label: t("field.labels"),
    cell: (node) =>
      labelsOf(node.labels).length
        ? labelsOf(node.labels).map((label) => html`<span class="tag">${label}</span>`)
        : "–",
  },
  {name: "version", label: t("field.version"), isOptional: true, cell: (node) => node.version || "–"},
  {
    name: "seen",
    label: t("field.last_seen"),
    cell: (node) => html`<span class="nowrap"><${Relative} at=${node.last_seen} /></span>`,
  },
  {name: "act", label: "", kind: "tight", cell: (node) => html`<${NodeActions} node=${node} reload=${reload} />`},
];

function Nodes({query}) {
  const list = useList("/nodes", {group: query.group, page: query.page, page_size: 100}, {on: kEvents});
  return html`<${Filters} names=${["group"]}><${GroupFilter} /></${Filters}>
    <${ListTable} label=${t("groups.tab_nodes")} list=${list} columns=${nodeColumns(list.reload, false)} keyOf=${(node) => node.kind + node.group + node.name + node.address}
      empty=${html`<${Empty} text=${t("groups.no_nodes")}><pre>tasktracker --group default --threads 4</pre></${Empty}>`} />`;
}

function Executors({group, onChange}) {
  const found = useFetch("/executors", {group}, {on: kEvents});
  const [isEditing, setEditing] = useState(false);
  return html`<${Panel} title=${t("groups.executors")} kind="flush" actions=${html`<${Act} need="admin" group=${group} kind="small" icon="edit"
      label=${t("groups.edit_executors")} disabled=${!found.data} onClick=${() => setEditing(true)} />`}>
    <${Fetched} from=${found}>${(
      data,
    ) => html`<${Table} label=${t("groups.executors")} rows=${data.items ?? []} keyOf=${(one) => one.address}
      empty=${html`<${Empty} text=${t("groups.no_executors")} />`} columns=${[
        {
          name: "address",
          label: t("field.address"),
          kind: "name",
          cell: (one) => html`<span class="mono break">${one.address}</span>`,
        },
        {name: "state", label: t("field.state"), cell: (one) => html`<${Status} state=${one.state} />`},
        {
          name: "manual",
          label: t("groups.source"),
          cell: (one) => t(one.is_manual ? "groups.manual" : "groups.registered"),
        },
        {name: "seen", label: t("field.last_seen"), cell: (one) => html`<${Relative} at=${one.last_seen} />`},
      ]} />`}</${Fetched}></${Panel}>
    ${
      isEditing &&
      html`<${ExecutorsDialog} group=${group} addresses=${(found.data.items ?? []).filter((one) => one.is_manual).map((one) => one.address)}
      onClose=${() => setEditing(false)} onDone=${() => {
        found.reload();
        onChange();
      }} />`
    }`;
}

function GroupPage({name}) {
  const groups = useFetch("/groups", {text: name, page_size: 1000}, {on: kEvents});
  const nodes = useList("/nodes", {group: name, page_size: 200}, {on: kEvents});
  const [isSplitting, setSplitting] = useState(false);
  const group = (groups.data?.items ?? []).find((one) => one.group === name);
  const isExecutors = isPushed(group);
  const forget = async () => {
    if (
      !(await confirm({
        title: t("ask.group_remove", {name}),
        text: t("ask.group_remove_text"),
        action: t("act.remove"),
      }))
    )
      return;
    await remove(`/groups/${encodeURIComponent(name)}`);
    toast("good", t("done.group_remove", {name}));
    go(to(["groups"]));
  };
  return html`<${Page} title=${name} crumbs=${[[t("nav.groups"), to(["groups"])]]} sub=${group && word("group_kind.", group.kind)}
      actions=${html`<a class="button" href=${to(["jobs"], {group: name})}>${t("nav.jobs")}</a><a class="button" href=${to(["history"], {group: name})}>${t("nav.history")}</a>
        <${Act} need="admin" group=${name} label=${t("act.split")} onClick=${() => setSplitting(true)} />
        ${isExecutors && html`<${Act} need="admin" group=${name} kind="danger" label=${t("act.remove")} onClick=${forget} />`}`}>
    <${Fetched} from=${groups}>${() =>
      group
        ? html`<div class="figures">
        <${Figure} label=${t("field.due")} value=${numberText(group.due)} href=${to(["waiting"], {group: name})} />
        <${Figure} label=${t("field.waiting")} value=${numberText(group.waiting)} /><${Figure} label=${t("field.executing")} value=${numberText(group.executing)} href=${to(["executing"], {group: name})} />
        ${durationText(group.lateness_p95_ms) && html`<${Figure} label=${t("groups.lateness")} value=${durationText(group.lateness_p95_ms)} />`}
        <${Figure} label=${t("groups.nodes")} value=${numberText(group.nodes)} sub=${!isExecutors && t("groups.threads_sub", {n: numberText(group.threads)})} tone=${group.nodes === 0 ? "bad" : ""} />
        <${Figure} label=${t("field.parts")} value=${numberText(group.parts)} /></div>
        ${
          group.nodes === 0 &&
          html`<div class="notice warn"><div>${t(isExecutors ? "groups.unserved_executors" : "groups.unserved", {name})}
          ${!isExecutors && html`<pre>tasktracker --group ${name} --threads 4</pre>`}</div></div>`
        }`
        : html`<${Empty} text=${t("groups.unknown", {name})} />`}</${Fetched}>
    ${
      !isExecutors &&
      html`<${Panel} title=${t("groups.tab_nodes")} kind="flush"><${ListTable} label=${t("groups.tab_nodes")} list=${nodes} columns=${nodeColumns(nodes.reload, true)}
      keyOf=${(node) => node.kind + node.group + node.name + node.address} empty=${html`<${Empty} text=${t("groups.no_nodes_here")} />`} /></${Panel}>`
    }
    ${(isExecutors || (group && group.nodes === 0)) && html`<${Executors} group=${name} onChange=${groups.reload} />`}
    ${group?.owners && html`<${Panel} title=${t("groups.owners")}><${Facts} items=${group.owners.map((owner) => [owner.part, owner.tracker])} /></${Panel}>`}
    ${isSplitting && html`<${SplitDialog} group=${name} parts=${group?.parts ?? 1} onClose=${() => setSplitting(false)} onDone=${groups.reload} />`}</${Page}>`;
}

function Groups({query}) {
  const list = useList("/groups", {page: query.page, page_size: 200}, {on: kEvents});
  return html`<${ListTable} label=${t("nav.groups")} list=${list} columns=${groupColumns()} keyOf=${(group) => group.group} open=${(group) => to(["groups", group.group])}
    empty=${html`<${Empty} text=${t("groups.none")}><pre>tasktracker --group default --threads 4</pre></${Empty}>`} />`;
}

export default function GroupsPage({route}) {
  const [isAdding, setAdding] = useState(false);
  if (route.parts[1]) return html`<${GroupPage} name=${route.parts[1]} />`;
  const tab = route.query.tab === "nodes" ? "nodes" : "groups";
  return html`<${Page} title=${t("nav.groups")} actions=${html`<${Act} need="admin" icon="plus" label=${t("groups.add")} onClick=${() => setAdding(true)} />`}>
    <${Tabs} label=${t("nav.groups")} current=${tab} items=${[
      ["groups", t("groups.tab_groups"), to(["groups"])],
      ["nodes", t("groups.tab_nodes"), to(["groups"], {tab: "nodes"})],
    ]} />
    ${tab === "nodes" ? html`<${Nodes} query=${route.query} />` : html`<${Groups} query=${route.query} />`}
    ${isAdding && html`<${ExecutorsDialog} addresses=${[]} onClose=${() => setAdding(false)} onDone=${(name) => go(to(["groups", name]))} />`}</${Page}>`;
}
