// The small parts of every page.
import {html, classes, useEffect, useState} from "../lib/html.js";
import {t, word} from "../lib/i18n.js";
import {refusal} from "../lib/session.js";
import {hasOffset, localTime, relativeTime, utcTime} from "../lib/format.js";
import {createStore, useStore} from "../lib/store.js";
import {toast} from "./dialog.js";
import {Icon} from "./icons.js";

const second = createStore(Date.now());
setInterval(() => document.hidden || second.set(Date.now()), 1000);
/// The time now, once a second.
export const useNow = () => useStore(second);

/// A time with how long ago it was; `utc` adds the line in UTC.
export function Time({at, utc = false, relative = false, millis = false}) {
  if (!at) return html`<span class="faint">–</span>`;
  const text = localTime(at, {millis});
  return html`<time dateTime=${at} title=${`${localTime(at, {isLong: true, millis: true})} · ${utcTime(at)}`}>
    <span class="nowrap">${text}</span>
    ${relative && html` <span class="faint nowrap"><${Relative} at=${at} /></span>`}
    ${utc && hasOffset(at) && html`<span class="sub nowrap">${utcTime(at, {isLong: false})}</span>`}</time>`;
}

export function Relative({at}) {
  return html`${relativeTime(at, useNow())}`;
}

export function Button({icon, label, kind = "", hideLabel = false, children, ...rest}) {
  return html`<button type="button" class=${classes("button", kind)} aria-label=${hideLabel ? label : undefined}
    title=${hideLabel ? (rest.title ?? label) : rest.title} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${!hideLabel && label}${children}</button>`;
}

/// A button for what needs a role: disabled with the reason if the person may not.
export function Act({need = "operator", group, disabled, onClick, label, ...rest}) {
  const [isBusy, setBusy] = useState(false);
  const why = refusal(need, group);
  const run = async (event) => {
    setBusy(true);
    try {
      await onClick(event);
    } catch (error) {
      toast("bad", problemText(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<${Button} ...${rest} label=${label} disabled=${Boolean(disabled || why || isBusy)} onClick=${run}
    title=${why || rest.title} aria-busy=${isBusy ? "true" : undefined} />`;
}

export function Page({title, icon, crumbs, actions, children, sub}) {
  useEffect(() => {
    document.title = `${title} · Carillon`;
  }, [title]);
  return html`<div class="page">
    <header class="page-head">
      <div class="page-title">
        ${
          crumbs &&
          html`<nav class="crumbs" aria-label=${t("nav.path")}>${crumbs.map(
            ([label, href]) => html`<a href=${href}>${label}</a><span aria-hidden="true">/</span>`,
          )}</nav>`
        }
        <h1 tabindex="-1" id="page-title">${title}</h1>${sub && html`<div class="page-sub">${sub}</div>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>${children}</div>`;
}

export function Panel({title, actions, children, kind = "", note}) {
  return html`<section class=${classes("panel", kind)} aria-label=${title}>
    ${
      title &&
      html`<header class="panel-head"><h2>${title}</h2>${note && html`<span class="faint">${note}</span>`}
      ${actions && html`<div class="actions">${actions}</div>`}</header>`
    }
    <div class="panel-body">${children}</div></section>`;
}

/// The words for an error, with what to do about it.
export function problemText(error) {
  const fix = word("fix.", error.code ?? "unknown");
  const said = error.status === 0 ? t("error.unreachable") : error.message;
  return fix.startsWith("fix.") || fix === error.code ? said : `${said.replace(/[.。]?$/, t("text.stop"))} ${fix}`;
}

export function Problem({error, retry}) {
  return html`<div class="problem" role="alert"><${Icon} name="lost" />
    <div><strong>${word("problem.", error.code ?? "unknown")}</strong><p>${problemText(error)}</p></div>
    ${retry && html`<${Button} label=${t("act.retry")} icon="refresh" onClick=${retry} />`}</div>`;
}

export function Loading({label}) {
  return html`<div class="loading" role="status"><span class="bar" aria-hidden="true"></span>
    <span>${label ?? t("text.loading")}</span></div>`;
}

export function Empty({text, children}) {
  return html`<div class="empty"><p>${text}</p>${children}</div>`;
}

/// What a fetch found, or its progress, or its error.
export function Fetched({from, children}) {
  if (from.error && !from.data) return html`<${Problem} error=${from.error} retry=${from.reload} />`;
  if (!from.data) return html`<${Loading} />`;
  return html`${from.error && html`<${Problem} error=${from.error} retry=${from.reload} />`}${children(from.data)}`;
}

export function Facts({items}) {
  return html`<dl class="facts">${items
    .filter(Boolean)
    .map(([label, value]) =>
      value === undefined || value === null || value === ""
        ? null
        : html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
    )}</dl>`;
}

export function Figure({label, value, sub, tone = "", href}) {
  const inner = html`<span class="figure-label">${label}</span><span class=${classes("figure-value", tone && "tone-" + tone)}>
    ${value}</span>${sub && html`<span class="figure-sub">${sub}</span>`}`;
  return href ? html`<a class="figure" href=${href}>${inner}</a>` : html`<div class="figure">${inner}</div>`;
}

export function Tabs({label, items, current}) {
  return html`<nav class="tabs" aria-label=${label}>${items.map(
    ([name, text, href, count]) =>
      html`<a href=${href} aria-current=${name === current ? "page" : undefined}>${text}
      ${count ? html` <span class="count">${count}</span>` : null}</a>`,
  )}</nav>`;
}

export function Tags({tags, href}) {
  return html`${(tags ?? []).map((tag) =>
    href ? html`<a class="tag" href=${href(tag)}>${tag}</a>` : html`<span class="tag">${tag}</span>`,
  )}`;
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("good", t("text.copied"));
  } catch {
    toast("bad", t("text.not_copied"));
  }
}

export function Code({text, label}) {
  return html`<div class="code-block"><pre tabindex="0" aria-label=${label}>${text}</pre>
    <${Button} icon="copy" label=${t("act.copy_text")} hideLabel kind="quiet small" onClick=${() => copyText(text)} /></div>`;
}
