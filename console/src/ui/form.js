// Fields of forms: a label, help, and the error that belongs to it.
import {html, classes, useId} from "../lib/html.js";

export function Field({label, help, error, children, wide = false, isRequired}) {
  const id = useId();
  const helpId = id + "-help";
  const errorId = id + "-error";
  const described = [help && helpId, error && errorId].filter(Boolean).join(" ") || undefined;
  return html`<div class=${classes("field", {wide, wrong: error})}>
    <label for=${id}>${label}${isRequired && html`<span aria-hidden="true" class="required"> *</span>`}</label>
    ${children({
      id,
      "aria-describedby": described,
      "aria-invalid": error ? "true" : undefined,
      "aria-required": isRequired ? "true" : undefined,
    })}
    ${error && html`<p class="field-error" id=${errorId}>${error}</p>`}
    ${help && html`<p class="field-help" id=${helpId}>${help}</p>`}</div>`;
}

export function TextField({
  value,
  onInput,
  type = "text",
  list,
  placeholder,
  mono,
  autofocus,
  autocomplete = "off",
  disabled,
  ...rest
}) {
  const listId = useId();
  return html`<${Field} ...${rest}>${(ids) => html`<input ...${ids} type=${type} value=${value ?? ""}
    class=${classes({mono})} placeholder=${placeholder} autofocus=${autofocus} autocomplete=${autocomplete} disabled=${disabled}
    spellcheck=${false} list=${list ? listId : undefined} onInput=${(event) => onInput(event.target.value)} />
    ${list && html`<datalist id=${listId}>${list.map((one) => html`<option value=${one} />`)}</datalist>`}`}</${Field}>`;
}

export function AreaField({value, onInput, rows = 3, placeholder, ...rest}) {
  return html`<${Field} ...${rest}>${(ids) => html`<textarea ...${ids} rows=${rows} class="mono" spellcheck=${false}
    placeholder=${placeholder} value=${value ?? ""} onInput=${(event) => onInput(event.target.value)}></textarea>`}</${Field}>`;
}

export function SelectField({value, onInput, options, ...rest}) {
  return html`<${Field} ...${rest}>${(ids) => html`<select ...${ids} value=${value ?? ""}
    onChange=${(event) => onInput(event.target.value)}>${options.map(
      ([name, text]) => html`<option value=${name} selected=${name === (value ?? "")}>${text}</option>`,
    )}</select>`}</${Field}>`;
}

export function CheckField({value, onInput, label, help, disabled}) {
  const id = useId();
  return html`<div class="field check"><label for=${id}><input id=${id} type="checkbox" checked=${Boolean(value)} disabled=${disabled}
    aria-describedby=${help ? id + "-help" : undefined} onChange=${(event) => onInput(event.target.checked)} /> ${label}</label>
    ${help && html`<p class="field-help" id=${id + "-help"}>${help}</p>`}</div>`;
}

/// One of a few, as buttons.
export function ChoiceField({label, value, onInput, options, help}) {
  const name = useId();
  return html`<fieldset class="field wide choices"><legend>${label}</legend>
    <div class="choice-row">${options.map(
      ([key, text]) => html`<label class=${classes("choice", {on: key === value})}>
      <input type="radio" name=${name} value=${key} checked=${key === value} onChange=${() => onInput(key)} />${text}</label>`,
    )}</div>
    ${help && html`<p class="field-help">${help}</p>`}</fieldset>`;
}
