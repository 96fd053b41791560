// Users, tokens and keys with their roles and node groups.
import {html, useState} from "../lib/html.js";
import {remove} from "../lib/api.js";
import {useList} from "../lib/fetching.js";
import {t, word} from "../lib/i18n.js";
import {to} from "../lib/router.js";
import {refusal} from "../lib/session.js";
import {AccessDialog} from "../parts/access_forms.js";
import {Act, Empty, Page, Tabs, Time} from "../ui/basics.js";
import {confirm, toast} from "../ui/dialog.js";
import {ListTable} from "../ui/table.js";

const kKinds = ["users", "tokens", "keys"];

function Items({kind, query}) {
  const list = useList("/" + kind, {page: query.page, page_size: 100});
  const [changed, setChanged] = useState(undefined);
  const need = "admin";
  const forget = async (item) => {
    if (
      !(await confirm({
        title: t("ask.access_" + kind, {name: item.name}),
        text: t(`ask.access_${kind}_text`),
        action: t("act.remove"),
      }))
    )
      return;
    await remove(`/${kind}/${encodeURIComponent(item.name)}`);
    toast("good", t("access.removed", {name: item.name}));
    list.reload();
  };
  const columns = [
    {name: "name", label: t("field.name"), kind: "name", cell: (item) => html`<strong>${item.name}</strong>`},
    {name: "role", label: t("field.role"), cell: (item) => word("role.", item.role)},
    {
      name: "groups",
      label: t("access.groups"),
      cell: (item) => (item.groups ?? []).map((group) => html`<span class="tag mono">${group}</span>`),
    },
    kind === "keys" && {
      name: "key",
      label: t("access.public_key"),
      cell: (item) => html`<code class="break">${item.public_key ?? "–"}</code>`,
    },
    kind === "tokens" && {
      name: "expires",
      label: t("access.expires_at"),
      cell: (item) =>
        (item.expires_at ?? item.expires) ? html`<${Time} at=${item.expires_at ?? item.expires} />` : t("access.never"),
    },
    list.items.some((item) => item.last_used_at ?? item.last_seen) && {
      name: "used",
      label: t("access.last_used"),
      cell: (item) => html`<${Time} at=${item.last_used_at ?? item.last_seen} />`,
    },
    {
      name: "created",
      label: t("access.created"),
      cell: (item) => html`<${Time} at=${item.created_at} /><span class="sub">${item.created_by}</span>`,
    },
    {
      name: "act",
      label: "",
      kind: "tight",
      cell: (item) => html`<div class="actions">
      ${kind === "users" && html`<${Act} need="admin" kind="small" icon="edit" label=${t("act.edit")} onClick=${() => setChanged(item)} />`}
      <${Act} need=${need} kind="small danger" label=${t("act.remove")} onClick=${() => forget(item)} /></div>`,
    },
  ];
  return html`<div class="toolbar"><p class="lead">${t(`access.${kind}_text`)}</p>
      <${Act} need=${need} kind="primary" icon="plus" label=${t("access.add_" + kind)} onClick=${() => setChanged(null)} /></div>
    <${ListTable} label=${t("access." + kind)} list=${list} columns=${columns} keyOf=${(item) => item.name} empty=${html`<${Empty} text=${t("access.none_" + kind)} />`} />
    ${changed !== undefined && html`<${AccessDialog} kind=${kind} item=${changed} onClose=${() => setChanged(undefined)} onDone=${list.reload} />`}`;
}

export default function Access({route}) {
  const kind = kKinds.includes(route.query.tab) ? route.query.tab : "users";
  const why = refusal("admin");
  return html`<${Page} title=${t("nav.access")}>
    <${Tabs} label=${t("nav.access")} current=${kind} items=${kKinds.map((name) => [name, t("access." + name), to(["access"], name === "users" ? {} : {tab: name})])} />
    ${why ? html`<${Empty} text=${why} />` : html`<${Items} kind=${kind} query=${route.query} key=${kind} />`}</${Page}>`;
}
