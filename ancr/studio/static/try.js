// Try: draw, drop, paste, pick or edit a query; beside it the answer, and the samples that the query is made of.
import { ask, latest, upload } from "/static/api.js";
import { Drawing } from "/static/drawing.js";
import { Grid } from "/static/grid.js";
import { html, render } from "/static/htm-preact.js";
import { asked, kindOf, ranges } from "/static/logic.js";
import { Beside, Empty, Picture, complain, count, percent, say } from "/static/parts.js";
import { Settings } from "/static/settings.js";

const MOST_FOUND = 60, LARGEST = 16 * 2 ** 20;
let studio, root = null, query = null, answer = null, settings, controls, row = null, hits = null, waiting = false, judged = "", start = null, over = false;

// Counts what was asked for: a sample that comes late does not take the place of a drawing, or of a row that is being edited.
let turn = 0;

export function open(shared, panel) {
  studio = shared;
  root = panel;
  begin();
  draw();
  if (query) run();
}

export function close() {
  render(null, root);
  root = null;
}

// At first, and when other data was opened: a sample that nobody chose, so that the page shows what it does.
function begin() {
  takeOver();
  if (start === studio.state.start) return;
  start = studio.state.start;
  query = answer = row = hits = null;
  const { held_out, waiting: pool, ready } = studio.state;
  if (ready) random(held_out ? "held out" : pool ? "pool" : "labelled");
}

export function update() {
  if (!root) return;
  if (start !== studio.state.start) begin();
  if (waiting && studio.state.chosen && !studio.state.busy.choose) {
    waiting = false;
    say(`Settings chosen: ${percent(studio.state.chosen.accuracy)} by leave-one-out.`);
    change(studio.state.chosen.settings);
  }
  draw();
  // Probabilities are calibrated anew after every label and change of settings.
  const now = JSON.stringify(studio.state.estimate);
  if (now !== judged) { judged = now; run(); }
}

export function undone() { takeOver(); draw(); run(); }

// The settings in use, and what can be changed about them.
function takeOver() { settings = { ...studio.state.settings }; controls = studio.state.controls; }

// Other settings: what can be changed about them is asked for, since a method or a kernel has parameters of its own.
async function change(wanted) {
  const found = await ask("/api/controls", { settings: wanted }).catch(() => null);
  if (!found) return;
  ({ settings, controls } = found);
  draw();
  run();
}

function slide(name, value) {
  settings = { ...settings, [name]: value };
  draw();
  run();
}

async function search(event) {
  event.preventDefault();
  const text = document.getElementById("words").value;
  const found = text.trim() && (await ask(`/api/browse?${asked({ text })}`).catch(() => null));
  const numbers = found ? found.numbers.slice(0, MOST_FOUND) : [];
  const samples = numbers.length ? await ask(`/api/samples?start=${found.start}&numbers=${ranges(numbers)}`).catch(() => []) : [];
  hits = found ? { samples, total: found.numbers.length } : null;
  draw();
}

async function random(kind) {
  const now = ++turn, sample = await ask(`/api/random?kind=${encodeURIComponent(kind)}`).catch(() => null);
  if (sample && now === turn) pick(sample.id);
}

export async function pick(id) {
  query = { kind: "sample", body: { sample: id }, sample: null };
  const now = ++turn, whole = await ask(`/api/row/${id}`).catch(() => null);
  if (!whole || now !== turn) return;
  query.sample = whole;
  row = studio.state.pictures ? null : { id, name: whole.name, cells: whole.row, typed: 0 };
  draw();
  run();
}

document.addEventListener("paste", (event) => {
  if (!root) return;
  const image = [...(event.clipboardData?.files || [])].find((file) => file.type.startsWith("image/"));
  if (image) askImage(image, false);
});

function askImage(blob, drawn) {
  if (blob.size > LARGEST) { complain("Only 16 MB can be sent at once."); return; }
  if (query?.picture) URL.revokeObjectURL(query.picture);
  turn += 1;
  query = { kind: "image", blob, drawn, picture: drawn ? null : URL.createObjectURL(blob) };
  run();
}

const run = latest(async () => {
  if (!query) return;
  const now = query, body = { ...now.body, settings };
  const found = now.kind === "image"
    ? await upload(`/api/image?drawn=${now.drawn ? 1 : 0}&settings=${encodeURIComponent(JSON.stringify(settings))}`, now.blob)
    : await ask("/api/answer", body);
  answer = { ...found, of: now };
  draw();
});

// A column of numbers; arrays have no others.
const isNumber = (place) => (studio.state.kinds[place] || "number") === "number";

function edited() {
  turn += 1;
  const fields = row.cells.map((_, place) => document.getElementById(`cell-${place}`));
  const cells = fields.map((field, at) => (field.value === "" ? null : isNumber(at) ? field.valueAsNumber : field.value));
  const known = cells.every((cell, at) => (cell === null ? studio.state.kinds.length > 0 : !isNumber(at) || Number.isFinite(cell)));
  if (known) { query = { kind: "row", body: { row: cells, sample: row.id } }; run(); }
}

// Fields keep what is typed; another row makes other fields.
function Editor() {
  return html`<h3>Edit ${row.name}</h3><div class="editor" key=${row.id}>${row.cells.map(([column, value], place) => {
    const id = `cell-${place}`, tag = studio.state.kinds[place] === "text" ? "textarea" : "input";
    return html`<label for=${id}>${column}</label><${tag} key=${id} id=${id} type=${tag === "input" ? (isNumber(place) ? "number" : "text") : null} step=${isNumber(place) ? "any" : null} defaultValue=${String(value ?? "")} onInput=${edited} />`;
  })}</div>`;
}

function Query() {
  const { draws, takes_images, held_out, waiting: pool, labelled } = studio.state;
  const kinds = [["held out", held_out, "Held out"], ["pool", pool, "Waiting"], ["labelled", labelled, "Labelled"]].filter(([, n]) => n);
  const drop = (event) => { event.preventDefault(); over = false; draw(); const image = event.dataTransfer.files[0]; if (image) askImage(image, false); };
  const hover = (is) => (event) => { event.preventDefault(); if (over !== is) { over = is; draw(); } };
  return html`<h3>${draws ? "Draw" : takes_images ? "Bring an image" : "Take a sample"}</h3>
    ${draws && html`<${Drawing} changed=${(blob) => askImage(blob, true)} />`}
    ${takes_images && html`<div class=${`drop ${over ? "over" : ""}`} onDragOver=${hover(true)} onDragLeave=${hover(false)} onDrop=${drop}>
      <label for="file" class="button">Choose an image…</label><input type="file" accept="image/*" id="file" class="hidden-input" onChange=${(event) => event.target.files[0] && askImage(event.target.files[0], false)} />
      <span class="quiet">or drop or paste one here</span></div>`}
    <div class="row" role="group" aria-label="A random sample"><span class="quiet">${draws || takes_images ? "Or a random sample" : "A random sample"}</span>${kinds.map(([kind, , title]) => html`<button key=${kind} data-kind=${kind} onClick=${() => random(kind)}>${title}</button>`)}</div>
    <form class="row" role="search" onSubmit=${search}><label for="words">Find</label><input type="search" id="words" autocomplete="off" maxlength="500" placeholder="name or text" /><button>Search</button></form>
    ${hits && html`<p class="quiet" role="status">${hits.total ? `${hits.samples.length} of ${count(hits.total)} samples` : "No sample has these words."}</p>
      <${Grid} id="hits" label="What was found" count=${hits.samples.length} sample=${(place) => hits.samples[place]} kind=${kindOf(studio.state)} open=${(place) => pick(hits.samples[place].id)} />`}
    ${row && html`<${Editor} />`}`;
}

function Verdict() {
  const { accepted, promise } = answer;
  if (accepted === null) return html`<p class="quiet">${promise ? "Probabilities are not calibrated for these settings; use them to have that done." : "How often answers like this are right is being worked out."}</p>`;
  if (accepted) return html`<p><span class="badge good accepted">Sure</span> At least ${percent(promise.precision, 0)} of answers like this are right, tested on samples that were left out.</p>`;
  return html`<p><span class="badge warn unsure">Unsure</span> ${promise.supported
    ? `Tests on samples that were left out do not show that ${percent(promise.precision, 0)} of answers like this are right.`
    : `The labels so far do not show ${percent(promise.precision, 0)} of any answers to be right: more labels, or an audit of them, may.`}</p>`;
}

// What the answer is about, so that it is seen beside the answer: a picture, or the beginning of a text.
function Subject() {
  const { query: y, of } = answer, sample = of.sample;
  const src = of.kind === "sample" && sample?.picture ? `/api/picture/${sample.id}` : y || of.picture;
  if (src) return html`<img src=${src} alt=${`Picture of ${sample?.name ?? "the query"}`} class="pixels" />`;
  const text = kindOf(studio.state) === "text" && (of.body.row?.[0] ?? sample?.row[0]?.[1]);
  return text ? html`<blockquote class="cell">${text}</blockquote>` : null;
}

// The query, the samples that it is a weighted sum of, and what they make: y ≈ Xc.
function Sum() {
  const { query: y, reconstruction, witnesses, n_witnesses, of } = answer, sample = of.sample;
  const figure = (image, text) => html`<figure>${image}<figcaption>${text}</figcaption></figure>`;
  const img = (src, alt) => html`<img src=${src} alt=${alt} class="pixels" />`;
  const weight = (one) => html`<span class="weight" title=${`${percent(one.share, 0)} of the query`}>${one.weight.toFixed(2)}\u00a0×</span>`;
  const isRow = kindOf(studio.state) === "row" && witnesses.length > 0;
  const cells = of.kind === "row" ? of.body.row.map((value, place) => [row?.cells[place]?.[0], value]) : sample?.row || [];
  return html`<h3>What it is made of</h3>
    <p class="quiet">${count(n_witnesses)} labelled samples add up to it; these have the largest weights. Their classes give the answer.</p>
    ${isRow ? html`<${Beside} id="witnesses" label="Samples that it is made of" title=${of.kind === "row" ? "Edited row" : sample?.name ?? "Query"} row=${cells} others=${witnesses} say=${(one) => html`${weight(one)} <strong class=${one.label === answer.label ? "own" : ""}>${one.label}</strong>`} />`
      : html`<div class="sum">${(y || sample?.picture) && html`<div class="term">${figure(y ? img(y, "The query") : html`<${Picture} sample=${sample} />`, "query")}<span class="sign" aria-hidden="true">≈</span></div>`}
      <ul class="tiles" id="witnesses">${witnesses.map((one) => html`<li key=${one.id} class=${`tile ${one.label === answer.label ? "own" : ""}`}>${weight(one)}<${Picture} sample=${one} /><span class="name" title=${one.name}>${one.name}</span><strong class="label">${one.label}</strong></li>`)}</ul>
      ${reconstruction && html`<div class="term"><span class="sign" aria-hidden="true">=</span>${figure(img(reconstruction, "The reconstruction of the query"), "all together")}</div>`}</div>`}`;
}

// The columns of a table in which the query is least like those samples.
function Unlike() {
  const { unlike } = answer;
  if (!unlike.length) return null;
  return html`<h3>Where it is unlike them</h3><div class="scroll" tabindex="0" role="region" aria-label="Columns that differ"><table id="unlike"><thead><tr><th scope="col">Column</th><th scope="col">Query</th><th scope="col">These samples</th><th scope="col" class="number">Share of the distance</th></tr></thead>
    <tbody>${unlike.map((one) => html`<tr key=${one.column}><th scope="row">${one.column}</th><td>${one.value || "–"}</td><td>${one.witnesses || "–"}</td><td class="number">${percent(one.share, 0)}</td></tr>`)}</tbody></table></div>`;
}

function Classes() {
  const most = Math.max(...answer.classes.map((one) => one.residual), 1e-9), more = answer.n_classes - answer.classes.length;
  const bar = (share, kind) => html`<div class=${`bar ${kind}`} aria-hidden="true" style=${{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }}></div>`;
  return html`<h3>All classes</h3><p class="quiet">The residual is what is left of the query when only samples of that class count: the least wins.</p><div class="scroll" tabindex="0" role="region" aria-label="Table of classes"><table class="bars"><thead><tr><th scope="col">Class</th><td></td><th scope="col" class="number">Probability</th><td></td><th scope="col" class="number">Residual</th></tr></thead>
    <tbody>${answer.classes.map((one) => html`<tr key=${one.label} class=${one.label === answer.label ? "own" : ""}><th scope="row">${one.label}</th><td>${bar(one.probability, "")}</td><td class="number">${percent(one.probability)}</td><td>${bar(one.residual / most, "residual")}</td><td class="number">${one.residual.toFixed(3)}</td></tr>`)}</tbody></table></div>
    ${more > 0 && html`<p class="quiet">The best ${answer.classes.length} of ${answer.n_classes} classes.</p>`}`;
}

function Answer() {
  if (!studio.state.ready) return html`<${Empty} title="There is nothing to compare with yet."><p>Give labels of at least two classes in <a href="#label">Label</a>; then every sample gets an answer.</p><//>`;
  if (!answer && query) return html`<${Empty} title="Working on the answer."><p class="busy">One moment</p><//>`;
  if (!answer) return html`<${Empty} title="The answer appears here."><p>${studio.state.draws ? "Draw a digit" : studio.state.takes_images ? "Bring an image" : "Search for a sample"}, or take one at random. It is then written as a sum of labelled samples, and goes to the class whose samples take part most.</p><//>`;
  const { truth, of } = answer, name = of.kind === "image" ? (of.drawn ? "Your drawing" : "Your image") : of.kind === "row" ? "The edited row" : of.sample?.name ?? "The sample";
  return html`<div class="headline"><${Subject} /><div><p class="quiet">${name} is</p><p class="big"><strong id="answer">${answer.label}</strong> <span class="chance">${percent(answer.probability)}</span></p>
    <${Verdict} />${truth !== null && html`<p class="quiet">Its label is ${truth}: <span class=${truth === answer.label ? "accepted" : "problem"}>${truth === answer.label ? "right" : "wrong"}</span>.</p>`}</div></div>
    <${Sum} /><${Unlike} /><${Classes} />`;
}

function Buttons() {
  const { state } = studio, busy = state.busy.choose, far = state.progress.choose;
  const same = Object.keys(settings).every((name) => settings[name] === state.settings[name]);
  const use = () => studio.act({ do: "settings", settings }, "Settings are in use.").then(studio.refresh).then(run).catch(() => {});
  const choose = () => { waiting = true; say("Choosing settings by leave-one-out."); ask("/api/start/choose", {}).then(studio.refresh).catch(() => { waiting = false; }); };
  const cancel = () => { waiting = false; ask("/api/cancel/choose", {}).then(studio.refresh).catch(() => {}); };
  return html`<div class="row" id="setting-buttons"><button class=${same ? "" : "main"} data-key="use" disabled=${same} onClick=${use}>Use these settings</button>
      <button data-key="reset" disabled=${same} onClick=${() => { takeOver(); draw(); run(); }}>Back to those in use</button>
      <button data-key="choose" class=${busy ? "busy" : ""} disabled=${busy || !state.ready} onClick=${choose}>${busy ? "Choosing" : "Choose for me"}</button>
      ${busy && html`<button data-key="cancel" onClick=${cancel}>Cancel</button>`}</div>
    <p class="quiet" id="chosen">${state.chosen && !busy ? `Chosen from ${state.chosen.tried} settings: ${percent(state.chosen.accuracy)} by leave-one-out.` : busy ? `Settings are tried on samples that are left out${far ? `: ${far.done} of ${far.total} steps` : ""}…` : ""}</p>`;
}

function draw() {
  if (!root) return;
  render(html`<h2>Try</h2><div class="columns try"><section class="query" aria-label="Query"><${Query} /></section>
    <section class="card answer" aria-label="Answer" aria-live="polite"><${Answer} /></section>
    <section class="settings" aria-label="Settings"><h3>Settings</h3><${Settings} methods=${studio.state.methods} settings=${settings} controls=${controls} change=${change} slide=${slide} /><${Buttons} /></section></div>`, root);
}
