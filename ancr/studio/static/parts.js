// Parts that several views show. Preact changes only what differs, so that focus, scroll and half-typed text stay.
import { html } from "/static/htm-preact.js";

export function Picture({ sample }) {
  if (sample.picture) return html`<img src=${`/api/picture/${sample.id}`} alt=${`Picture of ${sample.name}`} loading="lazy" class="pixels" />`;
  const row = sample.row || [];
  if (row.length === 1) return html`<p class="cell">${String(row[0][1] ?? "–")}</p>`;
  return html`<dl>${row.map(([name, value]) => html`<dt>${name}</dt><dd>${String(value ?? "–")}</dd>`)}</dl>`;
}

export function Tile({ sample, tag = "li", children }) {
  return html`<${tag} class="tile"><${Picture} sample=${sample} /><span class="name">${sample.name}</span>${children}<//>`;
}

// A button that begins long work; while it runs, how far it is and a button that ends it.
export function Job({ studio, name, idle, running, start, cancel }) {
  const { busy, progress, problems, ready } = studio.state, far = progress[name];
  if (!busy[name]) return html`<p><button class="main" data-key="start" disabled=${!ready} onClick=${start}>${idle}</button></p>
    ${!ready && html`<p class="quiet">Give labels of at least two classes first.</p>`}
    ${problems[name] && html`<p class="problem">${problems[name]}</p>`}`;
  return html`<div class="row" role="group" aria-label=${running}><span class="busy">${running}</span>
    ${far && html`<progress aria-label=${running} value=${far.done} max=${far.total}></progress><span class="quiet">${far.done} of ${far.total} steps</span>`}
    <button data-key="cancel" onClick=${cancel}>Cancel</button></div>`;
}
