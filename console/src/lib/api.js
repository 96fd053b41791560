// Calls of /api/v1. Errors are ApiError with what the server's problem document says.
import {createStore} from "./store.js";

export const base = "/api/v1";
/// Counts answers 401: who follows it asks for the session again.
export const signedOut = createStore(0);
/// Whether the last call reached the server.
export const reachable = createStore(true);
let csrfToken = "";

export function setCsrfToken(token) {
  csrfToken = token ?? "";
}

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || String(status));
    this.status = status;
    this.code = problem.code || (status === 0 ? "unreachable" : "unknown");
    this.field = problem.field;
    this.limit = problem.limit;
  }
}

export function address(path, query = {}) {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(known).toString();
  return base + path + (search ? "?" + search : "");
}

export const jobPath = (group, taskId) => `/jobs/${encodeURIComponent(group)}/${encodeURIComponent(taskId)}`;
export const runPath = (jobId) => `/runs/${encodeURIComponent(jobId)}`;

/// One key for one intention, so that a repeated call is not a second change.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {title: response.statusText};
  }
}

export async function request(method, path, {query, body, headers = {}, signal, type} = {}) {
  const isChange = method !== "GET";
  const sent = {Accept: "application/json", ...headers};
  if (isChange) {
    sent["X-CSRF-Token"] = csrfToken;
    // What stores nothing needs no key, of which the server keeps the answer.
    if (!query?.dry_run && !path.endsWith(":preview")) sent["Idempotency-Key"] ??= newKey();
  }
  if (body !== undefined) sent["Content-Type"] = type ?? "application/json";
  let response;
  try {
    response = await fetch(address(path, query), {
      method,
      signal,
      headers: sent,
      credentials: "same-origin",
      cache: "no-store",
      body: body === undefined || type ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    reachable.set(false);
    throw new ApiError(0, {});
  }
  reachable.set(true);
  if (response.status === 401 && !path.startsWith("/session")) signedOut.set((count) => count + 1);
  if (!response.ok) throw new ApiError(response.status, await problemOf(response));
  return response;
}

async function answer(response) {
  const text = await response.text();
  if (!text) return {};
  const value =
    (response.headers.get("Content-Type") ?? "").includes("json") &&
    !(response.headers.get("Content-Type") ?? "").includes("jsonl")
      ? JSON.parse(text)
      : {text};
  const etag = response.headers.get("ETag");
  if (etag && value && typeof value === "object") value.etag = etag;
  return value;
}

export const get = async (path, query, signal) => answer(await request("GET", path, {query, signal}));
export const post = async (path, body = {}, options = {}) => answer(await request("POST", path, {body, ...options}));
export const put = async (path, body = {}, options = {}) => answer(await request("PUT", path, {body, ...options}));
export const patch = async (path, body = {}) => answer(await request("PATCH", path, {body}));
export const remove = async (path, query) => answer(await request("DELETE", path, {query}));

/// Saves a text as a file of the person.
export function saveText(name, text, type = "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
