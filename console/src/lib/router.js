// Routes in the address's hash: #/jobs?group=ops. The address is the state of a page.
import {createStore, useStore} from "./store.js";

function parse(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?", 2);
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

const route = createStore(parse(location.hash));
window.addEventListener("hashchange", () => route.set(parse(location.hash)));

export const currentRoute = () => route.get();
export const useRoute = () => useStore(route);

function searchOf(query) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(known).toString();
  return search ? "?" + search : "";
}

/// The address of a page: to(["jobs", group, taskId], {tab: "runs"}).
export function to(parts, query = {}) {
  return "#/" + parts.map(encodeURIComponent).join("/") + searchOf(query);
}

export function go(address, {replace = false} = {}) {
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, "", address);
    route.set(parse(address));
  } else {
    location.hash = address;
  }
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
