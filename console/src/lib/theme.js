// Light, dark, or as the system says.
import {createStore, kept} from "./store.js";

export const theme = createStore(kept.get("theme", "auto"));
const system = window.matchMedia("(prefers-color-scheme: dark)");

export const isDark = () => theme.get() === "dark" || (theme.get() === "auto" && system.matches);
/// What is drawn on a canvas follows this.
export const darkness = createStore(isDark());

function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  darkness.set(isDark());
}

export function setTheme(name) {
  theme.set(name);
  kept.set("theme", name);
  apply();
}

export function startTheme() {
  apply();
  system.addEventListener("change", apply);
}
