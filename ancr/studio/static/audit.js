// Audit: suspicious labels, with the samples that speak for and against each.
import { ask } from "/static/api.js";
import { percent, say } from "/static/dom.js";
import { html, render } from "/static/htm-preact.js";
import { Job, Picture, Tile } from "/static/parts.js";

const PAGE = 12;
let studio, root = null, found = null, seen = null, shown = PAGE;

export function open(shared, panel) {
  studio = shared;
  root = panel;
  seen = null;
  draw();
  load();
}

export function close() {
  render(null, root);
  root = null;
}

export function update() {
  if (!root) return;
  draw();
  load();
}

async function load() {
  const key = JSON.stringify([studio.state.version, studio.state.done.audit, studio.state.estimate]);
  if (key === seen) return;
  seen = key;
  found = await ask("/api/audit").catch(() => found);
  draw();
}

function start() {
  say("The labels are being audited.");
  shown = PAGE;
  ask("/api/start/audit", {}).then(studio.refresh).catch(() => {});
}

const cancel = () => ask("/api/cancel/audit", {}).then(studio.refresh).catch(() => {});
const act = (action, message) => studio.act(action, message).then(load).catch(() => {});

function Summary() {
  const { estimate, low, high } = found.errors, now = studio.state.estimate;
  const after = now && now.current ? ` and is ${percent(now.accuracy)} now.` : "; it is being brought up to date.";
  return html`<p>About ${Math.round(estimate)} of ${found.n} labels are wrong (${Math.round(low)} to ${Math.round(high)}).</p>
    <p id="effect">Leave-one-out accuracy was ${percent(found.accuracy)} at the audit${after}</p>`;
}

const DECIDED = { kept: "kept it", relabelled: "changed it", excluded: "excluded the sample" };

function Case({ entry }) {
  const { sample } = entry, key = `case ${sample.id}`, differs = entry.suggested !== sample.label;
  const give = (label) => act({ do: "label", sample: sample.id, label, was: sample.label }, `${sample.name} is ${label} now.`);
  const side = (name, title) => html`<div><h4>${title} ${entry.label}</h4>${entry[name].length
    ? html`<ul class="tiles">${entry[name].map((one) => html`<${Tile} key=${one.id} sample=${one}><strong>${one.label ?? "no label"}</strong><div class="quiet">weight ${one.weight.toFixed(3)}</div><//>`)}</ul>`
    : html`<p class="quiet">None.</p>`}</div>`;
  return html`<section class=${`panel case${entry.decided ? " decided" : ""}`} aria-label=${`Label of ${sample.name}`}>
    <${Tile} tag="div" sample=${sample} />
    <div><h3>${sample.label ?? "no label"}${differs ? ` → ${entry.suggested}?` : ""}</h3>
      <p>The label ${entry.label} is right with probability ${percent(entry.probability, 0)}.${entry.decided ? ` You ${DECIDED[entry.decided]}.` : ""}</p>
      <div class="row">
        <button data-key=${`${key} keep`} onClick=${() => act({ do: "keep", sample: sample.id }, `${sample.name} keeps its label.`)}>Keep</button>
        <button data-key=${`${key} relabel`} class=${differs ? "main" : ""} disabled=${!differs} onClick=${() => give(entry.suggested)}>It is ${entry.suggested}</button>
        <select aria-label=${`Another class for ${sample.name}`} data-key=${`${key} other`} value="" onChange=${(event) => { if (event.target.value) give(event.target.value); }}>
          <option value="">another class…</option>${studio.state.classes.map((one) => html`<option key=${one.label} value=${one.label}>${one.label}</option>`)}</select>
        <button data-key=${`${key} exclude`} onClick=${() => act({ do: sample.excluded ? "include" : "exclude", sample: sample.id }, sample.excluded ? `${sample.name} is used again.` : `${sample.name} is excluded.`)}>${sample.excluded ? "Include again" : "Exclude"}</button>
      </div>
      <div class="sides">${side("against", "Against")}${side("for", "For")}</div></div></section>`;
}

function Pairs({ title, none, pairs }) {
  const half = (sample) => html`<div class="tile"><${Picture} sample=${sample} /><span class="name">${sample.name}</span><strong>${sample.label ?? ""}</strong></div>`;
  return html`<h3>${title}</h3>${pairs.length
    ? html`<ul class="pairs">${pairs.map(([first, second, distance]) => html`<li key=${first.id + second.id}>${half(first)}${half(second)}<span class="quiet">distance ${distance.toPrecision(2)}</span></li>`)}</ul>`
    : html`<p class="quiet">${none}</p>`}`;
}

function Found() {
  const left = found.suspicious.length - shown;
  return html`<div id="cases">${found.suspicious.slice(0, shown).map((entry) => html`<${Case} key=${entry.sample.id} entry=${entry} />`)}</div>
    ${left > 0 && html`<p><button data-key="more" onClick=${() => { shown += PAGE; draw(); }}>Show ${Math.min(PAGE, left)} more of ${left}</button></p>`}
    <${Pairs} title="Near-duplicates" none="No labelled samples are nearly the same." pairs=${found.duplicates} />
    ${studio.state.held_out > 0 && html`<${Pairs} title="Leaks: held-out samples that are nearly the same as a labelled one" none="No held-out sample is nearly the same as a labelled one." pairs=${found.leaks} />`}`;
}

function draw() {
  if (!root) return;
  render(html`<h2>Audit</h2><div class="panel"><p>Each labelled sample is judged by all others. Labels that they contradict come first.</p>
    <${Job} studio=${studio} name="audit" idle=${found ? "Audit again" : "Audit the labels"} running="Auditing" start=${start} cancel=${cancel} />
    ${found && html`<${Summary} />`}</div>
    ${found && html`<${Found} />`}`, root);
}
