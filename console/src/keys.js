// Keys that work on every page, and the dialog that lists them.
import {html, useEffect} from "./lib/html.js";
import {t} from "./lib/i18n.js";
import {go, to} from "./lib/router.js";
import {Dialog} from "./ui/dialog.js";

/// After g, one letter names the page.
const kGoTo = {
  o: "",
  j: "jobs",
  w: "waiting",
  e: "executing",
  h: "history",
  c: "calendar",
  g: "groups",
  s: "scripts",
  a: "alarms",
};

const isTyping = (target) =>
  target.closest?.("input:not([type=checkbox]):not([type=radio]),textarea,select,.editor") !== null;

export function useKeys({onHelp}) {
  useEffect(() => {
    let wasG = 0;
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      const page = Date.now() - wasG < 1500 ? kGoTo[event.key] : undefined;
      wasG = 0;
      if (page !== undefined) {
        event.preventDefault();
        go(to(page ? [page] : []));
      } else if (event.key === "g") {
        wasG = Date.now();
      } else if (event.key === "/") {
        event.preventDefault();
        document.getElementById("search")?.focus();
      } else if (event.key === "?") {
        event.preventDefault();
        onHelp();
      } else if (event.key === "n") {
        go(to(["jobs", "new"]));
      } else if (
        event.key === "ArrowDown" &&
        event.target.closest("tbody") === null &&
        event.target.closest("a,button") === null
      ) {
        const row = document.querySelector("main tbody tr");
        if (row) {
          event.preventDefault();
          row.focus();
        }
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [onHelp]);
}

export function KeyHelp({onClose}) {
  const rows = [
    ["/", t("keys.search")],
    ["?", t("keys.help")],
    ["n", t("keys.new_job")],
    ["↑ ↓", t("keys.rows")],
    ["Enter", t("keys.open")],
    [t("keys.space"), t("keys.choose")],
    ["Esc", t("keys.close")],
    ...Object.entries(kGoTo).map(([key, page]) => [`g ${key}`, t("keys.go", {page: t("nav." + (page || "overview"))})]),
  ];
  return html`<${Dialog} title=${t("keys.title")} onClose=${onClose}>
    <table class="keys"><thead class="hidden"><tr><th scope="col">${t("keys.key")}</th><th scope="col">${t("keys.does")}</th></tr></thead>
    <tbody>${rows.map(
      ([key, text]) => html`<tr><td>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</td>
      <td>${text}</td></tr>`,
    )}</tbody></table></${Dialog}>`;
}
