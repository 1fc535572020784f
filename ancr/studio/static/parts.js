// Parts that several views show. Preact changes only what differs, so that focus, scroll and half-typed text stay.
import { html } from "/static/htm-preact.js";
import { completed, percent } from "/static/logic.js";

export { percent } from "/static/logic.js";

export const count = (number) => number.toLocaleString("en");

export function say(text) { document.getElementById("status").textContent = text; }

export function complain(text) { document.getElementById("alert").textContent = text; }

// Columns of a row but the one that is its name, which is shown anyway.
const told = ({ row, name }) => row.filter(([, value]) => String(value) !== name);

// A sample as a picture, a text, or the first columns of its row.
export function Picture({ sample, named = true }) {
  if (sample.picture) return html`<img src=${`/api/picture/${sample.id}`} alt=${named ? `Picture of ${sample.name}` : ""} loading="lazy" decoding="async" class="pixels" />`;
  const row = sample.row || [];
  if (row.length === 1) return html`<p class="cell">${String(row[0][1] ?? "–")}</p>`;
  return html`<dl>${told(sample).map(([name, value]) => html`<div><dt>${name}</dt><dd>${String(value ?? "–")}</dd></div>`)}</dl>`;
}

export function Tile({ sample, tag = "li", children }) {
  return html`<${tag} class="tile"><${Picture} sample=${sample} /><span class="name" title=${sample.name}>${sample.name}</span>${children}<//>`;
}

// Rows of a table side by side, so that they can be compared column by column: the one that is asked about, and others
// with what is said about each.
export function Beside({ id, label, title, row, others, say: said }) {
  const [first] = others, mine = new Map(row), places = [...first.row.keys()].filter((place) => String(first.row[place][1]) !== first.name);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table id=${id} class="beside"><thead><tr><th scope="col">Column</th><th scope="col">${title}</th>${others.map((one) => html`<th key=${one.id} scope="col">${said(one)}<span class="name">${one.name}</span></th>`)}</tr></thead>
    <tbody>${places.map((place) => html`<tr key=${place}><th scope="row">${first.row[place][0]}</th><td>${String(mine.get(first.row[place][0]) ?? "–")}</td>${others.map((one) => html`<td key=${one.id}>${String(one.row[place][1] ?? "–")}</td>`)}</tr>`)}</tbody></table></div>`;
}

// What is known of a sample's class, in a line.
export function Known({ sample, sure = true }) {
  if (sample.excluded) return html`<span class="badge quiet">excluded</span>`;
  if (sample.label !== null) return html`<strong class="label">${sample.label}</strong>${sample.doubt >= 0.5 && html` <span class="badge warn"><span class="brief" aria-hidden="true">!</span><span class="word">doubtful</span></span>`}`;
  if (sample.guess) return html`<span class="guess">${sample.guess.label}?${sure && html` <span class="quiet">${percent(sample.guess.confidence, 0)}</span>`}</span>`;
  return html`<span class="quiet">${sample.status || "no label"}</span>`;
}

// A field for a class, known or new. What is typed stays in the element, so that no update can take it away. The rest of a
// class that is known from its first letters is added and selected: what Enter gives is what is seen, and Delete takes it off.
export function ClassField({ id, title, classes, give, button = "Give", hint = null }) {
  const submit = (event) => {
    event.preventDefault();
    const input = document.getElementById(id);
    if (input.value.trim() && give(input.value) !== false) input.value = "";
  };
  const complete = ({ target, inputType, isComposing }) => {
    const typed = target.value, whole = completed(typed, classes.map((one) => one.label));
    if (whole === null || isComposing || inputType !== "insertText" || target.selectionStart !== typed.length) return;
    target.value = whole;
    target.setSelectionRange(typed.length, whole.length);
  };
  return html`<form class="row class-field" onSubmit=${submit}><label for=${id}>${title}${hint && html` <kbd>${hint}</kbd>`}</label>
    <input type="text" id=${id} list=${`${id}s`} autocomplete="off" maxlength="200" onInput=${complete} /><button>${button}</button>
    <datalist id=${`${id}s`}>${classes.map((one) => html`<option key=${one.label} value=${one.label} />`)}</datalist></form>`;
}

// Nothing to show yet, and what to do about it.
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="title">${title}</p>${children}</div>`;
}

// A button that begins long work; while it runs, how far it is and a button that ends it.
export function Job({ studio, name, idle, again = false, running, start, cancel }) {
  const { busy, progress, problems, ready } = studio.state, far = progress[name];
  if (!busy[name]) return html`<p><button class=${again ? "" : "main"} data-key="start" disabled=${!ready} onClick=${start}>${idle}</button></p>
    ${!ready && html`<p class="quiet">Give labels of at least two classes first.</p>`}
    ${problems[name] && html`<p class="problem">${problems[name]}</p>`}`;
  return html`<div class="row" role="group" aria-label=${running}><span class="busy">${running}</span>
    ${far && html`<progress aria-label=${running} value=${far.done} max=${far.total}></progress><span class="quiet">${far.done} of ${far.total} steps</span>`}
    <button data-key="cancel" onClick=${cancel}>Cancel</button></div>`;
}
