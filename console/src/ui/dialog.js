// Dialogs, questions before something is destroyed, and short messages.
import {html, classes, useEffect, useRef} from "../lib/html.js";
import {createStore, useStore} from "../lib/store.js";
import {t} from "../lib/i18n.js";
import {Icon} from "./icons.js";

const toasts = createStore([]);
const questions = createStore(null);
let nextId = 1;

/// A message that goes away by itself; errors stay longer.
export function toast(tone, text, link) {
  const id = nextId++;
  toasts.set((shown) => [...shown.slice(-3), {id, tone, text, link}]);
  setTimeout(() => toasts.set((shown) => shown.filter((one) => one.id !== id)), tone === "bad" ? 12000 : 5000);
}

/// Asks once: resolves with true if the person agrees. `text` says what will happen.
export function confirm({title, text, action, isDanger = true}) {
  return new Promise((resolve) => questions.set({title, text, action, isDanger, resolve}));
}

export function Dialog({title, onClose, children, wide = false, actions, onSubmit}) {
  const dialog = useRef(null);
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    if (!element.open) element.showModal();
    return () => {
      if (element.open) element.close();
      before?.focus?.();
    };
  }, []);
  const submit = (event) => {
    event.preventDefault();
    onSubmit?.(event);
  };
  return html`<dialog ref=${dialog} class=${classes("dialog", {wide})} aria-labelledby="dialog-title"
      onCancel=${(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown=${(event) => event.target === dialog.current && onClose()}>
    <form class="dialog-inner" onSubmit=${submit} noValidate>
      <header><h2 id="dialog-title">${title}</h2>
        <button type="button" class="button quiet small" aria-label=${t("act.close")} onClick=${onClose}>
          <${Icon} name="cross" /></button></header>
      <div class="dialog-body">${children}</div>
      ${actions && html`<footer class="actions">${actions}</footer>`}
    </form></dialog>`;
}

function Question({asked}) {
  const answer = (isAgreed) => {
    questions.set(null);
    asked.resolve(isAgreed);
  };
  return html`<${Dialog} title=${asked.title} onClose=${() => answer(false)} onSubmit=${() => answer(true)}
    actions=${html`<button type="button" class="button" onClick=${() => answer(false)}>${t("act.back")}</button>
      <button type="submit" class=${classes("button", asked.isDanger ? "danger" : "primary")} autofocus>${asked.action}</button>`}>
    <p>${asked.text}</p></${Dialog}>`;
}

/// Where questions and messages appear: once in the page.
export function Overlays() {
  const shown = useStore(toasts);
  const asked = useStore(questions);
  return html`${asked && html`<${Question} asked=${asked} key=${asked.title} />`}
    <div class="toasts" role="status" aria-live="polite">${shown.map(
      (one) =>
        html`<div key=${one.id} class=${"toast tone-" + one.tone}>
        <${Icon} name=${one.tone === "bad" ? "lost" : "check"} /><span>${one.text}
        ${one.link && html` <a href=${one.link.href}>${one.link.text}</a>`}</span>
        <button type="button" class="button quiet small" aria-label=${t("act.close")}
          onClick=${() => toasts.set((list) => list.filter((other) => other.id !== one.id))}>
          <${Icon} name="cross" /></button></div>`,
    )}</div>`;
}
