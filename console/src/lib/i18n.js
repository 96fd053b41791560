// Messages: t("jobs.running", {n: 3}) from the catalogue of the chosen language.
//   {name}            the value, as it is
//   {n|run|runs}      the second word if n is 1, else the third
import {createStore, kept} from "./store.js";

const catalogues = {en: () => import("../messages/en.js"), zh: () => import("../messages/zh.js")};
export const languages = {en: "English", zh: "中文"};
export const language = createStore("en");
let messages = {};

export function t(key, values = {}) {
  const text = messages[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}/g, (whole, name, one, many) => {
    if (one !== undefined) return Number(values[name]) === 1 ? one : many;
    return values[name] === undefined ? whole : String(values[name]);
  });
}

/// The message, or the text itself where the server may know more words than the catalogue.
export function word(prefix, text) {
  return messages[prefix + text] ?? String(text ?? "");
}

export function preferredLanguage() {
  const asked = new URLSearchParams(location.search).get("lang");
  const chosen = catalogues[asked] ? asked : kept.get("language", "");
  if (catalogues[chosen]) return chosen;
  return (navigator.languages ?? []).some((name) => /^zh/i.test(name)) && !/^en/i.test(navigator.language)
    ? "zh"
    : "en";
}

export async function setLanguage(name) {
  const chosen = catalogues[name] ? name : "en";
  messages = (await catalogues[chosen]()).default;
  document.documentElement.lang = chosen;
  kept.set("language", chosen);
  language.set(chosen);
}
