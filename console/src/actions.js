// What a person does to jobs and runs: asks where something ends, calls the API, says what happened.
import {get, jobPath, post, runPath} from "./lib/api.js";
import {t} from "./lib/i18n.js";
import {to} from "./lib/router.js";
import {confirm, toast} from "./ui/dialog.js";

/// Actions that end something ask first.
const kAsking = new Set(["cancel", "kill"]);
const kWatchMs = 700;

function said(answer, fallback) {
  toast("good", answer.message || fallback);
  return answer;
}

export async function actOnJob(job, action) {
  const name = job.task_id;
  if (
    kAsking.has(action) &&
    !(await confirm({
      title: t(`ask.job_${action}`, {name}),
      action: t(action === "cancel" ? "act.yes_cancel" : "act." + action),
      text: t(`ask.job_${action}_text`, {name, n: job.running ?? 0}),
    }))
  )
    return null;
  return said(await post(`${jobPath(job.group, name)}:${action}`), t("done.job_" + action, {name}));
}

export async function actOnRun(run, action) {
  if (
    kAsking.has(action) &&
    !(await confirm({
      title: t(`ask.run_${action}`),
      action: t(action === "cancel" ? "act.yes_cancel" : "act." + action),
      text: t(`ask.run_${action}_text`, {name: run.task_id, id: run.job_id}),
    }))
  )
    return null;
  return said(await post(`${runPath(run.job_id)}:${action}`), t("done.run_" + action, {name: run.task_id}));
}

export async function rerun(run, payload) {
  const answer = await post(`${runPath(run.job_id)}:retry`, payload === undefined ? {} : {payload});
  toast(
    "good",
    answer.message || t("done.run_rerun", {name: run.task_id}),
    answer.job_id && {text: t("act.open_run"), href: to(["runs", answer.job_id])},
  );
  return answer;
}

/// Follows an operation over many jobs or runs until it ends.
async function watch(operation, label) {
  let now = operation;
  if (now.state === "running")
    toast("note", t("operation.started", {label, n: now.total ?? "…"}), {
      text: t("operation.watch"),
      href: to(["operations"]),
    });
  while (now.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, kWatchMs));
    now = await get(`/operations/${encodeURIComponent(now.id)}`);
  }
  const failed = Number(now.failed ?? 0);
  toast(
    failed ? "bad" : "good",
    t(failed ? "operation.ended_failed" : "operation.ended", {
      label,
      n: now.done ?? now.total,
      failed,
      reason: now.errors?.[0]?.detail ?? "",
    }),
    {text: t("operation.watch"), href: to(["operations"])},
  );
  return now;
}

/// body: {action, items | filter, ...}; count: how many it concerns, null if unknown.
export async function actOnMany(kind, body, count) {
  const action = body.action;
  const label = t("act." + action);
  const n = count ?? "…";
  const isMany = count === null || count === undefined;
  const agreed = await confirm({
    title: t(isMany ? `ask.${kind}_filter` : `ask.${kind}_many`, {action: label, n}),
    action: action === "cancel" ? t("act.yes_cancel") : label,
    text: t(`ask.${kind}s_${action}_text`, {
      n,
      tag: body.tag ?? "",
      what: t(isMany ? `ask.all_${kind}s` : `ask.n_${kind}s`, {n}),
    }),
    isDanger: kAsking.has(action),
  });
  if (!agreed) return null;
  return (await startMany(kind, body)).promise;
}

/// Starts without a question; `promise` ends when the operation does.
export async function startMany(kind, body) {
  const {action, ...what} = body;
  const operation = await post(`/${kind}s:${action === "rerun" ? "retry" : action}`, what);
  return {promise: watch(operation, t("act." + action))};
}
