// One sample, as large as it is: its picture, all its columns, its label; and the ones before and after it.
import { ask } from "/static/api.js";
import { html, render } from "/static/htm-preact.js";
import { ClassField, Known, count } from "/static/parts.js";
import { kindOf, matching } from "/static/logic.js";

// asked: what was asked for last; an answer that comes for anything else is late and not shown.
let studio, list = null, at = 0, shown = null, zoomed = false, asked = null;
const dialog = document.getElementById("viewer");

export function setUp(shared) { studio = shared; }

// list: { count, sample(place): a promise of one }
export function openViewer(samples, place) {
  list = samples;
  shown = null;
  zoomed = false;
  go(place);
  if (!dialog.open) dialog.showModal();
}

export function openOne(sample) { openViewer({ count: 1, sample: () => Promise.resolve(sample) }, 0); }

async function go(place) {
  if (!list) return;
  at = place;
  const mine = asked = {};
  const found = await Promise.resolve(list.sample(place)).catch(() => null);
  if (!found || mine !== asked) return;
  shown = found;
  draw();
  const whole = await ask(`/api/row/${found.id}`).catch(() => null);
  if (whole && mine === asked) { shown = whole; draw(); }
}

export function update(news) {
  if (dialog.open && shown && (news.more || news.touched?.some((one) => one.id === shown.id))) go(at);
}

const step = (by) => { const to = at + by; if (to >= 0 && to < list.count) { zoomed = false; go(to); } };
const act = (action, message) => studio.act({ sample: shown.id, ...action }, message).then(() => go(at)).catch(() => {});

function give(text) {
  const name = matching(text, studio.state.classes.map((one) => one.label));
  act({ do: "label", label: name, was: shown.label }, `${shown.name} is ${name}.`);
}

function key(event) {
  if (event.target.matches("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowRight") step(1);
  else if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "z" && shown?.picture && studio.state.has_files) { zoomed = !zoomed; draw(); }
  else if (event.key === "/") document.getElementById("viewer-class").focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function Whole() {
  const held = shown.status === "held out", { classes } = studio.state, isText = kindOf(studio.state) === "text";
  const tryIt = () => { dialog.close(); location.hash = "try"; studio.attempt(shown.id); };
  return html`<div class="bar"><h2>${shown.name}</h2>
      <span class="quiet">${list.count > 1 ? `${count(at + 1)} of ${count(list.count)}` : ""}</span>
      <div class="row">${list.count > 1 && html`<button onClick=${() => step(-1)} disabled=${at === 0} aria-label="Before">←</button><button onClick=${() => step(1)} disabled=${at === list.count - 1} aria-label="Next">→</button>`}
      <button onClick=${() => dialog.close()}>Close</button></div></div>
    <div class=${`whole ${shown.picture ? "with-picture" : ""}`}>
      ${shown.picture && html`<div class=${`frame ${zoomed ? "zoomed" : ""}`} tabindex="0" role="region" aria-label="Picture"><img key=${shown.id} src=${`/api/picture/${shown.id}?full=1`} alt=${`Picture of ${shown.name}`} class="pixels" /></div>`}
      <div class="about">${isText && html`<p class="cell">${String(shown.row[0][1] ?? "–")}</p>`}<p class="verdict-line"><${Known} sample=${shown} /></p>
        ${shown.picture && studio.state.has_files && html`<p><button onClick=${() => { zoomed = !zoomed; draw(); }} aria-pressed=${String(zoomed)}><kbd>z</kbd>${zoomed ? "Fit to the window" : "Full size"}</button></p>`}
        ${held ? html`<p class="quiet">Held out to measure accuracy, so it cannot be labelled.</p>` : html`
        ${shown.guess && html`<p><button class=${shown.guess.confidence < 0.5 ? "" : "main"} onClick=${() => give(shown.guess.label)}>It is ${shown.guess.label}</button></p>`}
        <${ClassField} id="viewer-class" title="Class" hint="/" classes=${classes} give=${give} />
        <div class="row"><button onClick=${() => act({ do: shown.excluded ? "include" : "exclude" }, shown.excluded ? "It is used again." : "It is excluded.")}>${shown.excluded ? "Include again" : "Exclude"}</button>
          ${shown.label !== null && html`<button onClick=${() => act({ do: "unlabel" }, "It has no label now.")}>Remove the label</button>`}
          <button onClick=${tryIt}>Why? See it in Try</button></div>`}
        ${!shown.picture && !isText && html`<table class="cells"><tbody>${shown.row.map(([name, value]) => html`<tr key=${name}><th scope="row">${name}</th><td>${String(value ?? "–")}</td></tr>`)}</tbody></table>`}
      </div></div>`;
}

function draw() { render(html`<${Whole} />`, dialog); }

dialog.addEventListener("keydown", key);
dialog.addEventListener("close", () => { list = shown = asked = null; render(null, dialog); });
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
