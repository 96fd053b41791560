// The frame around every page: navigation, search, keys, and which page an address shows.
import {html, useEffect, useState} from "./lib/html.js";
import {signedOut, reachable} from "./lib/api.js";
import {language, t} from "./lib/i18n.js";
import {startLive, stopLive} from "./lib/live.js";
import {currentAddress, go, to, useRoute} from "./lib/router.js";
import {loadSession, session, useSession} from "./lib/session.js";
import {useStore} from "./lib/store.js";
import {Loading, Page, Problem, Empty} from "./ui/basics.js";
import {Overlays} from "./ui/dialog.js";
import {Navigation, TopBar} from "./frame.js";
import {KeyHelp, useKeys} from "./keys.js";

const kPages = {
  overview: () => import("./pages/overview.js"),
  jobs: () => import("./pages/jobs.js"),
  job: () => import("./pages/job.js"),
  edit: () => import("./pages/job_edit.js"),
  import: () => import("./pages/import.js"),
  runs: () => import("./pages/run.js"),
  waiting: () => import("./pages/queues.js"),
  executing: () => import("./pages/queues.js"),
  history: () => import("./pages/history.js"),
  calendar: () => import("./pages/calendar.js"),
  groups: () => import("./pages/groups.js"),
  scripts: () => import("./pages/scripts.js"),
  alarms: () => import("./pages/alarms.js"),
  access: () => import("./pages/access.js"),
  audit: () => import("./pages/audit.js"),
  cluster: () => import("./pages/cluster.js"),
  operations: () => import("./pages/operations.js"),
  login: () => import("./pages/login.js"),
  account: () => import("./pages/account.js"),
  search: () => import("./pages/search.js"),
};

function nameOf(parts) {
  const [first = "overview", second, third, fourth] = parts;
  if (first === "jobs" && (second === "new" || second === "import") && !third)
    return second === "new" ? "edit" : "import";
  if (first === "jobs" && third) return fourth === "edit" ? "edit" : "job";
  return kPages[first] && first !== "job" && first !== "edit" && first !== "import" ? first : "";
}

function NotFound() {
  return html`<${Page} title=${t("page.unknown")}><${Empty} text=${t("page.unknown_text")}>
    <a class="button" href=${to([])}>${t("nav.overview")}</a></${Empty}></${Page}>`;
}

/// The page of the address, loaded when it is first asked for.
function PageOf({route}) {
  const name = nameOf(route.parts);
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    if (!name || loaded[name]) return;
    kPages[name]().then(
      (module) => setLoaded((before) => ({...before, [name]: {view: module.default}})),
      (error) => setLoaded((before) => ({...before, [name]: {error}})),
    );
  }, [name]);
  if (!name) return html`<${NotFound} />`;
  const page = loaded[name];
  if (!page) return html`<${Loading} />`;
  if (page.error) return html`<${Problem} error=${page.error} retry=${() => location.reload()} />`;
  return html`<${page.view} key=${name + route.parts.slice(1).join("/")} route=${route} />`;
}

/// Focus follows to a new page, so that the keyboard and screen readers do, too.
function useFocusOnPage(route) {
  useEffect(() => {
    const main = document.querySelector("main");
    if (!main || document.querySelector("dialog[open]")) return;
    main.scrollTo(0, 0);
    if (document.activeElement === document.body || document.activeElement?.closest?.("tbody"))
      main.focus({preventScroll: true});
  }, [route.path]);
}

function SignedIn({route}) {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const isReachable = useStore(reachable);
  useKeys({onHelp: () => setHelpOpen(true)});
  useFocusOnPage(route);
  useEffect(() => setMenuOpen(false), [route.path]);
  useEffect(() => {
    startLive();
    return stopLive;
  }, []);
  return html`<a class="skip-link" href="#page-title" onClick=${(event) => {
    event.preventDefault();
    document.getElementById("page-title")?.focus();
  }}>${t("nav.skip")}</a>
    <div class="frame">
      <${TopBar} route=${route} onMenu=${() => setMenuOpen(!isMenuOpen)} isMenuOpen=${isMenuOpen} onHelp=${() => setHelpOpen(true)} />
      <${Navigation} route=${route} isOpen=${isMenuOpen} onClose=${() => setMenuOpen(false)} />
      <main tabindex="-1">${!isReachable && html`<div class="notice warn" role="alert">${t("error.unreachable")}</div>`}
        <${PageOf} route=${route} /></main>
    </div>
    ${isHelpOpen && html`<${KeyHelp} onClose=${() => setHelpOpen(false)} />`}`;
}

export function App() {
  const route = useRoute();
  const known = useSession();
  useStore(language);
  useEffect(
    () =>
      signedOut.subscribe(() => {
        if (session.get()?.signed_in) loadSession().catch(() => {});
      }),
    [],
  );
  const isLogin = route.parts[0] === "login";
  useEffect(() => {
    if (!known.signed_in && !isLogin)
      go(to(["login"], route.path === "/" ? {} : {next: currentAddress()}), {replace: true});
    if (known.signed_in && isLogin && !route.query.one_time) go(route.query.next ?? "/", {replace: true});
  }, [known.signed_in, isLogin]);
  const isShown = known.signed_in ? !isLogin || route.query.one_time : isLogin;
  return html`${
    isShown &&
    (known.signed_in && !isLogin
      ? html`<${SignedIn} route=${route} />`
      : html`<main class="login-frame"><${PageOf} route=${route} /></main>`)
  }<${Overlays} />`;
}
