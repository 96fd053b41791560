// The bar above and the navigation beside every page.
import {html, classes, useEffect, useRef, useState} from "./lib/html.js";
import {get} from "./lib/api.js";
import {languages, language, setLanguage, t, word} from "./lib/i18n.js";
import {liveState} from "./lib/live.js";
import {foundAddress, go, setQuery, to} from "./lib/router.js";
import {useSettled} from "./lib/fetching.js";
import {signOut, useSession} from "./lib/session.js";
import {useStore} from "./lib/store.js";
import {setTheme, theme} from "./lib/theme.js";
import {Brand, Icon} from "./ui/icons.js";

const kSections = [
  [
    "nav.work",
    [
      ["", "overview", "home"],
      ["jobs", "jobs", "list"],
      ["waiting", "waiting", "hourglass"],
      ["executing", "executing", "play"],
      ["history", "history", "history"],
      ["calendar", "calendar", "calendar"],
    ],
  ],
  [
    "nav.manage",
    [
      ["groups", "groups", "nodes"],
      ["scripts", "scripts", "code"],
      ["alarms", "alarms", "bell"],
    ],
  ],
  [
    "nav.administer",
    [
      ["access", "access", "key"],
      ["audit", "audit", "audit"],
      ["cluster", "cluster", "cluster"],
    ],
  ],
];

export function Navigation({route, isOpen, onClose}) {
  const current = route.parts[0] ?? "";
  return html`<nav class=${classes("side", {open: isOpen})} id="navigation" aria-label=${t("nav.label")}
      onKeyDown=${(event) => event.key === "Escape" && onClose()}>
    ${kSections.map(
      ([title, pages]) => html`<div class="side-section"><h2>${t(title)}</h2><ul>
      ${pages.map(
        ([part, name, icon]) => html`<li><a href=${to(part ? [part] : [])}
        aria-current=${current === part || (part === "history" && current === "runs") ? "page" : undefined}>
        <${Icon} name=${icon} /><span>${t("nav." + name)}</span></a></li>`,
      )}</ul></div>`,
    )}</nav>`;
}

const kTypeIcons = {job: "list", run: "play", group: "nodes", node: "cluster"};

/// The one search box: jobs, runs, groups and workers, with arrows and Enter.
function Search() {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const input = useRef(null);
  const settled = useSettled(text.trim(), 200);
  useEffect(() => {
    const control = new AbortController();
    if (!settled) setFound([]);
    else {
      get("/search", {text: settled}, control.signal).then(
        (answer) => {
          setFound((answer.items ?? []).slice(0, 12));
          setChosen(0);
        },
        () => setFound([]),
      );
    }
    return () => control.abort();
  }, [settled]);
  const leave = (address) => {
    setOpen(false);
    setText("");
    input.current.blur();
    go(address);
  };
  const onKey = (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      event.preventDefault();
      setChosen((chosen + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter" && text.trim()) {
      event.preventDefault();
      leave(
        found[chosen] && settled === text.trim() ? foundAddress(found[chosen]) : to(["search"], {text: text.trim()}),
      );
    } else if (event.key === "Escape") {
      setText("");
      input.current.blur();
    }
  };
  const isListed = isOpen && Boolean(settled);
  return html`<div class="search" role="search">
    <${Icon} name="search" />
    <input id="search" ref=${input} type="search" role="combobox" placeholder=${t("search.placeholder")} value=${text}
      aria-label=${t("search.label")} aria-expanded=${isListed ? "true" : "false"} aria-controls="search-found" aria-autocomplete="list"
      aria-activedescendant=${isListed && found[chosen] ? "found-" + chosen : undefined} autocomplete="off"
      onInput=${(event) => {
        setText(event.target.value);
        setOpen(true);
      }} onKeyDown=${onKey}
      onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 150)} />
    <kbd aria-hidden="true">/</kbd>
    <ul id="search-found" role="listbox" aria-label=${t("search.found")} class=${classes({shown: isListed})}>
      ${
        isListed &&
        found.map(
          (
            one,
            index,
          ) => html`<li id=${"found-" + index} role="option" aria-selected=${index === chosen ? "true" : "false"}
        class=${classes({chosen: index === chosen})} onMouseDown=${(event) => {
          event.preventDefault();
          leave(foundAddress(one));
        }}>
        <${Icon} name=${kTypeIcons[one.type] ?? "list"} /><span class="found-label">${one.label || one.task_id || one.job_id}</span>
        <span class="faint">${word("search.type_", one.type)}${one.group && one.type !== "group" ? " · " + one.group : ""}</span></li>`,
        )
      }
      ${
        isListed &&
        found.length === 0 &&
        html`<li role="option" aria-selected="false" aria-disabled="true" class="faint">
        ${settled === text.trim() ? t("search.none") : t("text.loading")}</li>`
      }</ul></div>`;
}

function Live() {
  const state = useStore(liveState);
  return html`<span class=${"live " + state} title=${t("live.help_" + state)}><span class="dot" aria-hidden="true"></span>
    <span>${t("live." + state)}</span></span>`;
}

const kThemes = ["auto", "light", "dark"];

export function Preferences() {
  const chosen = useStore(theme);
  const spoken = useStore(language);
  const next = kThemes[(kThemes.indexOf(chosen) + 1) % kThemes.length];
  return html`<button type="button" class="button quiet" onClick=${() => setTheme(next)} title=${t("theme.next", {name: t("theme." + next)})}
      aria-label=${t("theme.label", {name: t("theme." + chosen)})}>
      <${Icon} name=${chosen === "dark" ? "moon" : "sun"} /><span class="wide-only">${t("theme." + chosen)}</span></button>
    <label class="hidden" for="language">${t("field.language")}</label>
    <select id="language" class="quiet" value=${spoken} onChange=${(event) => {
      // What the address asked for is not what is chosen now.
      setQuery({lang: ""}, {replace: true});
      setLanguage(event.target.value);
    }}>
      ${Object.entries(languages).map(([name, label]) => html`<option value=${name} lang=${name} selected=${name === spoken}>${label}</option>`)}
    </select>`;
}

export function TopBar({onMenu, isMenuOpen, onHelp}) {
  const {principal, read_only: isReadOnly, server} = useSession();
  return html`<header class="top">
    <button type="button" class="button quiet menu" aria-label=${t("nav.menu")} aria-expanded=${isMenuOpen ? "true" : "false"}
      aria-controls="navigation" onClick=${onMenu}><${Icon} name="menu" /></button>
    <a class="brand" href=${to([])} title=${t("nav.home")}><${Brand} /><span>Carillon</span></a>
    ${server?.name && html`<span class="server faint wide-only">${server.name}</span>`}
    <${Search} />
    ${isReadOnly && html`<span class="badge tone-warn">${t("session.read_only")}</span>`}
    <${Live} />
    <div class="top-end">
      <button type="button" class="button quiet wide-only" aria-label=${t("keys.title")} title=${t("keys.title") + " (?)"} onClick=${onHelp}>
        <${Icon} name="question" /></button>
      <${Preferences} />
      <a class="button quiet" href=${to(["account"])} title=${principal?.role && t("role." + principal.role)}>
        <${Icon} name="user" /><span class="wide-only">${principal?.name}</span><span class="hidden">${t("nav.account")}</span></a>
      <button type="button" class="button quiet" aria-label=${t("session.sign_out")} title=${t("session.sign_out")} onClick=${() => signOut()}>
        <${Icon} name="out" /></button>
    </div></header>`;
}
