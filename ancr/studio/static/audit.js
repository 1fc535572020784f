// Audit: suspicious labels in a grid; beside it the one that is looked at, with the samples that speak for and against it.
import { ask } from "/static/api.js";
import { Grid } from "/static/grid.js";
import { html, render } from "/static/htm-preact.js";
import { SETTLE, kindOf } from "/static/logic.js";
import { Beside, Empty, Job, Picture, Tile, count, percent, say } from "/static/parts.js";
import { openOne } from "/static/viewer.js";

let studio, root = null, found = null, seen = null, at = 0, busy = false, audit = null, isOwn = false;

// When the label that is shown became another: by itself, so that a key is not for it, or at all, as for the second click of two.
const turned = { alone: -SETTLE, shown: -SETTLE };
const isNew = (how) => performance.now() - turned[how] < SETTLE;

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
  const key = JSON.stringify([studio.state.start, studio.state.version, studio.state.done.audit, studio.state.estimate]);
  if (key === seen) return;
  seen = key;
  const news = await ask("/api/audit").catch(() => found), before = shown()?.sample.id;
  if (key !== seen) return;  // what was asked for later may have come before
  found = news;
  if (audit !== studio.state.done.audit) {  // another audit has another order; one of another tab leaves what is looked at
    at = isOwn ? 0 : Math.max(0, found?.suspicious.findIndex((entry) => entry.sample.id === before) ?? 0);
    [audit, isOwn] = [studio.state.done.audit, false];
  }
  if (before && shown()?.sample.id !== before) turned.alone = turned.shown = performance.now();
  draw();
}

function start() {
  say("The labels are being audited.");
  isOwn = true;
  ask("/api/start/audit", {}).then(studio.refresh).catch(() => {});
}

const cancel = () => ask("/api/cancel/audit", {}).then(studio.refresh).catch(() => {});

// After a decision comes the next label that waits for one; until then a key would be for one that nobody has seen.
async function decide(action, message) {
  if (busy) return;
  busy = true;
  if (await studio.act({ sample: shown().sample.id, ...action }, message).catch(() => null)) {
    await load();
    const next = found.suspicious.findIndex((entry, place) => place > at && !entry.decided);
    if (next >= 0) [at, turned.shown] = [next, performance.now()];
  }
  busy = false;
  draw();
}

const keep = () => decide({ do: "keep" }, `${shown().sample.name} keeps its label.`);
const give = (label) => decide({ do: "label", label, was: shown().sample.label }, `${shown().sample.name} is ${label} now.`);
const exclude = () => { const { sample } = shown(); decide({ do: sample.excluded ? "include" : "exclude" }, sample.excluded ? `${sample.name} is used again.` : `${sample.name} is excluded.`); };
const shown = () => found?.suspicious[Math.min(at, found.suspicious.length - 1)];

document.addEventListener("keydown", (event) => {
  if (!root || !found?.suspicious.length || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea") || event.target.closest("dialog")) return;
  const entry = shown();
  if (/^[krx]$/.test(event.key) && isNew("alone")) say("The label has just changed. Look again.");
  else if (event.key === "k") keep();
  else if (event.key === "r" && entry.suggested !== entry.sample.label) give(entry.suggested);
  else if (event.key === "x") exclude();
  else if (event.key === "z") openOne(entry.sample);
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  if (root && event.detail > 1 && isNew("shown") && event.target.closest("#case button")) event.stopPropagation();
}, true);

function Summary() {
  const { estimate, low, high, caution } = found.errors, now = studio.state.estimate;
  const after = now && now.current ? ` and is ${percent(now.accuracy)} now.` : "; it is being brought up to date.";
  const n = Math.round(estimate);
  return html`<p class="lead">${n ? `${caution ? "Perhaps" : "About"} ${n} of ${count(found.n)} labels ${n === 1 ? "is" : "are"} wrong` : `None of ${count(found.n)} labels seems to be wrong`} <span class="quiet">(${Math.round(low)} to ${Math.round(high)})</span></p>
    ${caution && html`<p>${caution}</p>`}
    <p id="effect" class="quiet">Leave-one-out accuracy was ${percent(found.accuracy)} at the audit${after}</p>`;
}

const DECIDED = { kept: "kept", relabelled: "changed", excluded: "excluded" };

function Case({ entry }) {
  const { sample } = entry, key = `case ${sample.id}`, differs = entry.suggested !== sample.label, isDoubtful = entry.probability < 0.5, isRow = kindOf(studio.state) === "row";
  // A witness whose weight is rounding says nothing.
  const witnesses = (name) => entry[name].filter((one) => one.weight >= 0.005), weight = (one) => html`<strong>${one.label ?? "no label"}</strong> <span class="quiet number">${one.weight.toFixed(2)}\u00a0×</span>`;
  const side = (name, title) => html`<div><h4>${title} ${entry.label}</h4>${!witnesses(name).length ? html`<p class="quiet">None.</p>` : isRow
    ? html`<${Beside} label=${`${title} ${entry.label}`} title=${sample.name} row=${sample.row} others=${witnesses(name)} say=${weight} />`
    : html`<ul class="tiles">${witnesses(name).map((one) => html`<${Tile} key=${one.id} sample=${one}><strong class="label">${one.label ?? "no label"}</strong><div class="quiet">${one.weight.toFixed(2)}\u00a0×</div><//>`)}</ul>`}</div>`;
  return html`<section class=${`card case${entry.decided ? " decided" : ""}`} id="case" aria-label=${`Label of ${sample.name}`}>
    ${!(isRow && witnesses("against").length) && html`<div class="stage"><${Picture} key=${sample.id} sample=${sample} /></div>`}
    <div><h3><span class="name">${sample.name}</span> <span class="quiet">is labelled</span> ${sample.label ?? "no label"}${differs ? html` <span class="quiet">– or is it</span> ${entry.suggested}?` : ""}</h3>
      <p>The label ${entry.label} is right with probability ${percent(entry.probability, 0)}.${entry.decided ? html` <span class="accepted">You have ${DECIDED[entry.decided]} it.</span>` : ""}</p>
      <div class="row">
        <button data-key=${`${key} relabel`} class=${differs && isDoubtful ? "main" : ""} disabled=${!differs} onClick=${() => give(entry.suggested)}><kbd>r</kbd>It is ${entry.suggested}</button>
        <button data-key=${`${key} keep`} class=${isDoubtful ? "" : "main"} onClick=${keep}><kbd>k</kbd>Keep</button>
        <button data-key=${`${key} exclude`} onClick=${exclude}><kbd>x</kbd>${sample.excluded ? "Include again" : "Exclude"}</button>
        <select aria-label=${`Another class for ${sample.name}`} data-key=${`${key} other`} value="" onChange=${(event) => { if (event.target.value) give(event.target.value); }}>
          <option value="">another class…</option>${studio.state.classes.filter((one) => one.label !== sample.label).map((one) => html`<option key=${one.label} value=${one.label}>${one.label}</option>`)}</select>
        <button data-key=${`${key} zoom`} onClick=${() => openOne(sample)}><kbd>z</kbd>Zoom</button>
      </div></div>
      <div class=${`sides${isRow ? " rows" : ""}`}>${side("against", "Against")}${side("for", "For")}</div></section>`;
}

function Pairs({ title, none, pairs }) {
  const half = (sample) => html`<div class="tile"><${Picture} sample=${sample} /><span class="name">${sample.name}</span><strong class="label">${sample.label ?? ""}</strong></div>`;
  return html`<details class="pairs-box" open=${pairs.length > 0 && pairs.length <= 6}><summary>${title} (${pairs.length})</summary>${pairs.length
    ? html`<ul class="pairs">${pairs.map(([first, second, distance]) => html`<li key=${first.id + second.id}>${half(first)}${half(second)}<span class="quiet">distance ${distance.toPrecision(2)}</span></li>`)}</ul>`
    : html`<p class="quiet">${none}</p>`}</details>`;
}

const noted = (entry) => (entry.decided ? html`<span class="quiet">${DECIDED[entry.decided]}</span>` : html`<strong class="label">${entry.suggested === entry.shownLabel ? `${entry.shownLabel}?` : `${entry.shownLabel} → ${entry.suggested}`}</strong>`);

function Found() {
  const cases = found.suspicious.map((entry) => ({ ...entry.sample, decided: entry.decided, suggested: entry.suggested, shownLabel: entry.label }));
  const look = (place) => { at = place; draw(); };
  return html`<div class="columns audit"><div><h3>The most doubtful labels first</h3>
      <${Grid} id="cases" label="Suspicious labels" count=${cases.length} sample=${(place) => cases[place]} kind=${kindOf(studio.state)} note=${noted} isSelected=${(place) => place === at} open=${look} follow=${look} /></div>
    <div>${cases.length > 0 && html`<${Case} entry=${shown()} />`}</div></div>
    <${Pairs} title="Near-duplicates" none="No labelled samples are nearly the same." pairs=${found.duplicates} />
    ${studio.state.held_out > 0 && html`<${Pairs} title="Leaks: held-out samples that are nearly the same as a labelled one" none="No held-out sample is nearly the same as a labelled one." pairs=${found.leaks} />`}`;
}

function draw() {
  if (!root) return;
  const job = html`<${Job} studio=${studio} name="audit" idle=${found ? "Audit again" : "Audit the labels"} again=${Boolean(found)} running="Auditing" start=${start} cancel=${cancel} />`;
  render(html`<h2>Audit</h2>${!found
    ? html`<${Empty} title="Which labels are wrong?"><p>Each labelled sample is judged by all others. Labels that they contradict come first, with the samples that speak for and against each.</p>${job}<//>`
    : html`<div class="verdict"><div><${Summary} /></div>${job}</div><${Found} />`}`, root);
}
