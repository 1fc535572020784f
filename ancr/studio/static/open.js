// Open: bring a table, texts, an archive or a folder of images, look at what it would be, and open it; or open it again.
import { ask, bring, latest } from "/static/api.js";
import { html, render } from "/static/htm-preact.js";
import { ago, picked } from "/static/logic.js";
import { complain, count, percent, say } from "/static/parts.js";

const KINDS = [["number", "number"], ["yes/no", "yes or no"], ["date", "date"], ["category", "category"], ["text", "text"], ["id", "name of the row"], ["drop", "left out"]];
const ROLES = { label: "the label", name: "name of the row", split: "what is held out", "row number": "left out: row numbers" };
const FEATURES = { hog: "shapes (gradients)", pixels: "pixels", resnet18: "a network (resnet18)" };
const FEW = 40, LOOK = 400, HERE = ".";

let studio, root = null, recent = null, over = 0, sending = null, shown = null, wanted = {}, looking = false, opening = null, all = false;

export function open(shared, panel) {
  studio = shared;
  root = panel;
  draw();
  load();
  if (studio.state.asks_label && !shown) look({ key: HERE }, true);
}

export function close() {
  render(null, root);
  root = null;
}

export function update() { draw(); }

async function load() {
  recent = await ask("/api/recent").catch(() => recent);
  draw();
}

// Files of a folder that was dropped come entry by entry.
async function filesOf(entry, before = "") {
  const path = `${before}${entry.name}`;
  if (entry.isFile) return [{ path, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) }];
  const reader = entry.createReader(), found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    for (const one of part) found.push(...(await filesOf(one, `${path}/`)));
  }
}

export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...transfer.files];
  over = 0;
  try {
    const found = entries.length ? (await Promise.all(entries.map((entry) => filesOf(entry)))).flat() : files.map((file) => ({ path: file.name, file }));
    await take(found);
  } catch { complain("What was dropped cannot be read. Choose it by a button instead."); }
}

async function take(files) {
  if (sending || opening) return;
  recent ||= await ask("/api/recent").catch(() => null);
  if (!recent || !files.length) return;
  const { send, problem } = picked(files, recent);
  complain(problem);
  if (problem) { draw(); return; }
  shown = null;
  wanted = {};
  const upload = bring(send, (done, total) => { sending = { ...sending, done, total }; draw(); });
  sending = { name: send.length > 1 ? `${count(send.length)} files` : send[0].path, done: 0, total: 0, cancel: upload.cancel };
  say(`Sending ${sending.name}.`);
  draw();
  const kept = await upload.done.catch(() => null);
  sending = null;
  if (kept) await look({ key: kept.key }, true);
  draw();
}

// What the data would be with these choices; of many changes in a row only the last one is asked for.
const look = latest(async (change, first = false) => {
  const next = { ...wanted, ...change };
  looking = true;
  draw();
  const found = await ask("/api/preview", next).catch(() => null);
  looking = false;
  if (found) {
    shown = found;
    wanted = next;
    if (found.label !== undefined) wanted.label = found.label;
    if (found.kinds) wanted.kinds = found.kinds;
    if (first) { all = false; say(`${found.name}: ${count(found.samples)} samples.`); }
  }
  draw();
  if (first && found) document.getElementById("preview")?.focus();
});

const kindOf = (name, kind) => { const kinds = { ...wanted.kinds }; if (kind === "auto") delete kinds[name]; else kinds[name] = kind; look({ kinds }); };

// The page is loaded anew when the data is there, so that nothing of the data before is left in it.
async function start(what, name) {
  if (opening) return;
  opening = { name, done: 0, total: 0 };
  sessionStorage.setItem("opening", "yes");
  draw();
  const timer = setInterval(async () => {
    const far = await ask("/api/opening").catch(() => null);
    if (far && opening) { opening = far; draw(); }
  }, LOOK);
  try {
    await ask("/api/open", what);
    location.reload();
  } catch {
    if (studio.isLeaving) return;
    sessionStorage.removeItem("opening");
    opening = null;
    draw();
    load();
  } finally { clearInterval(timer); }
}

async function forget(id) { recent = await ask("/api/forget", { project: id }).catch(() => recent); draw(); }

function Bring() {
  const choose = (event) => {
    const files = [...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    event.target.value = "";
    take(files);
  };
  const enter = (event) => { event.preventDefault(); over += 1; draw(); }, leave = () => { over = Math.max(0, over - 1); draw(); };
  return html`<div class=${`bring ${over ? "over" : ""}`} onDragEnter=${enter} onDragLeave=${leave}>
    <p class="lead">${over ? "Let go to look at it" : "Drop a file or a folder here"}</p>
    <p class="quiet">A table (CSV, TSV, Excel, Parquet), a text file with one text a line, a folder or a zip of images, arrays or a model (.npz).</p>
    <div class="row"><label class="button" for="choose-file">Choose a file…</label><input type="file" id="choose-file" class="hidden-input" multiple accept=${recent ? [...recent.files, ...recent.images].join(",") : null} onChange=${choose} />
      <label class="button" for="choose-folder">Choose a folder of images…</label><input type="file" id="choose-folder" class="hidden-input" webkitdirectory onChange=${choose} /></div>
    <p class="quiet">It stays on this machine: a copy is kept, and your file is not changed.</p></div>`;
}

function Far({ text, far, cancel }) {
  return html`<div class="row far" role="group" aria-label=${text}><span class="busy">${text}</span>
    <progress aria-label=${text} ...${far.total ? { value: far.done, max: far.total } : {}}></progress>
    <span class="quiet">${far.total ? percent(far.done / far.total, 0) : ""}</span>${cancel && html`<button onClick=${cancel}>Cancel</button>`}</div>`;
}

function Column({ column, place }) {
  const { name, kind, why, gaps, values } = column, id = `kind-${place}`, isRole = kind in ROLES;
  const notes = [why && `left out: ${why}${why === "identifier" ? "; choose “name of the row” to call rows by it" : ""}`, gaps && `${count(gaps)} missing`].filter(Boolean);
  const changed = wanted.kinds && name in wanted.kinds;
  const isFixed = kind === "label" || !name;
  return html`<li><div>${isFixed ? html`<strong>${name || "(no name)"}</strong>` : html`<label for=${id}>${name}</label>`}<div class="quiet">${values.join(" · ")}</div>${notes.length > 0 && html`<div class="note">${notes.join(", ")}</div>`}</div>
    ${isFixed ? html`<span>${ROLES[kind] || "left out"}</span>` : html`<select id=${id} value=${isRole ? "role" : kind || "auto"} onChange=${(event) => kindOf(name, event.target.value)}>
      ${isRole && html`<option value="role">${ROLES[kind]}</option>`}${(changed || !kind) && html`<option value="auto">as it seems to be</option>`}${KINDS.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}</select>`}</li>`;
}

function Columns() {
  const { columns, label, what } = shown;
  if (what !== "table") return null;
  const few = all ? columns : columns.slice(0, FEW), names = columns.map((one) => one.name).filter(Boolean);
  return html`<h3>Columns</h3><p class="quiet">Their first values, and what each is taken for. Change what is wrong; what is left out is not learned from.</p>
    <ul class="plan">${few.map((column, place) => html`<${Column} key=${`${column.name}\n${label}`} column=${column} place=${place} />`)}</ul>
    ${few.length < columns.length && html`<p><button onClick=${() => { all = true; draw(); }}>Show the other ${count(columns.length - few.length)} columns</button></p>`}
    ${!names.length && html`<p class="problem">There is no column with a name.</p>`}`;
}

function Choices() {
  const { what, label, columns, features, choices } = shown;
  if (what === "images") return html`<div class="field wide"><label for="features">Images are compared by</label>
    <select id="features" value=${features} onChange=${(event) => look({ features: event.target.value })}>${choices.map((one) => html`<option key=${one} value=${one}>${FEATURES[one] || one}</option>`)}</select></div>`;
  if (what !== "table") return null;
  return html`<div class="field wide"><label for="label-column">Column of the labels</label>
    <select id="label-column" value=${label} onChange=${(event) => look({ label: event.target.value })}><option value="">none: I give all labels</option>
      ${columns.map((one) => one.name && html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}</select></div>`;
}

function Summary() {
  const { samples, labelled, classes, n_classes: n, what } = shown, things = what === "images" ? "images" : what === "table" ? "rows" : "samples";
  if (!samples) return null;
  const waiting = samples - labelled;
  return html`<p class="lead">${count(samples)} ${things}${labelled ? `, ${count(labelled)} with a label of ${count(n)} ${n === 1 ? "class" : "classes"}` : ""}</p>
    <p class="quiet">${!labelled ? (what === "table" && !shown.label ? "No column of labels is chosen: choose one, or give all labels yourself." : "None has a label yet: you give them in Label.") : waiting ? `${count(waiting)} wait for a label.` : "All have a label."}</p>
    ${n > 0 && html`<p class="counts">${classes.map((one) => html`<span key=${one.label} class="badge">${one.label} ${count(one.count)}</span> `)}${n > classes.length && html`<span class="quiet">and ${count(n - classes.length)} more</span>`}</p>`}`;
}

function Preview() {
  const { name, problem, notes, key } = shown, { label, kinds, features } = wanted;
  const go = () => start({ key, label, kinds, features }, name);
  return html`<section class="card preview" aria-labelledby="preview" aria-busy=${String(looking)}><h3 id="preview" tabindex="-1">${name}</h3>
    <${Summary} />${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="filters"><${Choices} />
      <button class="main" id="go" disabled=${Boolean(problem) || looking || opening !== null} onClick=${go}>Open it</button><button onClick=${() => { shown = null; draw(); }}>Not this</button>
      <span class=${`quiet ${looking ? "busy" : "unseen"}`}>One moment</span></div>
    ${notes.length > 0 && html`<ul class="notes">${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>`}
    <${Columns} /></section>`;
}

function Project({ one }) {
  const { id, name, what, samples, given, label, where, missing, here, opened } = one;
  const facts = [what, `${count(samples)} samples`, given === null ? "open in another studio" : `${count(given)} labels by you`, label && `labels in “${label}”`, ago(opened, Date.now())].filter(Boolean);
  return html`<li key=${id}><div><strong>${name}</strong>${here && html` <span class="badge good">open now</span>`}${missing && html` <span class="badge warn">the data is missing</span>`}
      <div class="quiet">${facts.join(" · ")}</div>${where && html`<div class="quiet">${where}</div>`}</div>
    ${!here && html`<div class="row"><button disabled=${missing || opening !== null} onClick=${() => start({ project: id }, name)} aria-label=${`Open ${name}`}>Open</button>
      <button onClick=${() => forget(id)} aria-label=${`Take ${name} from the list`}>Forget</button></div>`}</li>`;
}

function Recent() {
  const projects = recent?.projects || [];
  return html`<section aria-label="Recent projects"><h3>Recent projects</h3>
    ${!recent ? html`<p class="quiet busy">One moment</p>` : html`<ul class="plain recent">${projects.map((one) => html`<${Project} key=${one.id} one=${one} />`)}
      ${!projects.some((one) => one.what === "digits") && html`<li><div><strong>Digits</strong><div class="quiet">an example to try the studio with</div></div><div class="row"><button disabled=${opening !== null} onClick=${() => start({ digits: true }, "Digits")}>Open</button></div></li>`}</ul>
      <p class="quiet">“Forget” takes a project from this list; its data and its labels stay where they are.</p>`}</section>`;
}

function draw() {
  if (!root) return;
  render(html`<h2>Open</h2><div class="columns opening">
    ${opening ? html`<div class="card"><${Far} text=${`Opening ${opening.name}`} far=${opening} cancel=${() => ask("/api/open/cancel", {}).catch(() => {})} /></div>`
      : sending ? html`<div class="card"><${Far} text=${`Sending ${sending.name}`} far=${sending} cancel=${sending.cancel} /></div>`
        : shown ? html`<${Preview} />` : html`<${Bring} />`}
    <${Recent} /></div>`, root);
}
