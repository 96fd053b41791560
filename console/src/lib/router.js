// Routes are paths: /jobs?group=ops. The address is the state of a page.
import {base} from "./api.js";
import {createStore, useStore} from "./store.js";

function parse(address) {
  const [path, search = ""] = address.split("?", 2);
  const parts = path
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  return {path: "/" + parts.join("/"), parts, query: Object.fromEntries(new URLSearchParams(search))};
}

export const currentAddress = () => location.pathname + location.search;
const route = createStore(null);
export const useRoute = () => useStore(route);

// Not of another server, as //example.org/ is.
const isPath = (address) => /^\/(?![/\\])/.test(address);

/// A link with the page after a # keeps what follows, such as the secret of a sign-in, from servers.
function follow() {
  const hidden = location.hash.slice(1);
  if (isPath(hidden)) history.replaceState(null, "", hidden);
  route.set(parse(currentAddress()));
}

follow();
window.addEventListener("popstate", follow);

/// Links to pages do not load the console again.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  const isOther = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || isOther || event.defaultPrevented || link.pathname.startsWith(base) || link.target) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

function searchOf(query) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(known).toString();
  return search ? "?" + search : "";
}

/// The address of a page: to(["jobs", group, taskId], {tab: "runs"}).
export function to(parts, query = {}) {
  return "/" + parts.map(encodeURIComponent).join("/") + searchOf(query);
}

export function go(address, {replace = false} = {}) {
  if (address === currentAddress() || !isPath(address)) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  route.set(parse(address));
}

/// Changes parts of the query; a change of a filter begins at the first page again.
export function setQuery(changes, options = {}) {
  const {parts, query} = route.get();
  const next = {...query, ...changes};
  if (!("page" in changes)) delete next.page;
  go(to(parts, next), options);
}

export const jobAddress = (group, taskId, query) => to(["jobs", group, taskId], query);
export const runAddress = (jobId, query) => to(["runs", jobId], query);

/// Of what a search found.
export function foundAddress(found) {
  if (found.type === "run") return runAddress(found.job_id);
  if (found.type === "group") return to(["groups", found.group]);
  if (found.type === "node") return to(["groups"], {tab: "nodes", group: found.group});
  return jobAddress(found.group, found.task_id);
}
