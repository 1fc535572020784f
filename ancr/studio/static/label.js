// Label: the pool, most useful first, by single keys; and guesses to accept many at once.
import { ask } from "/static/api.js";
import { Grid } from "/static/grid.js";
import { html, render } from "/static/htm-preact.js";
import { SETTLE, classOfKey, keyOfClass, kindOf, matching, mayReload } from "/static/logic.js";
import { ClassField, Empty, Picture, count, percent, say } from "/static/parts.js";
import { openOne, openViewer } from "/static/viewer.js";

let studio, root = null, current = null, isAsked = false, busy = 0, acted = 0, looks = 0, keys = true, list = null, filter = null, newer = false, inside = false, isByKey = false;
const ticks = new Map();

// The second click of two is as blind as a key if the sample came with the first.
const turned = { sample: -SETTLE, guess: -SETTLE, shown: -SETTLE };
const isNew = (what) => performance.now() - turned[what] < SETTLE;
function isSeen(what) {
  if (isNew(what)) say(`The ${what} has just changed. Look again.`);
  return !isNew(what);
}

export function open(shared, panel) {
  studio = shared;
  root = panel;
  isAsked = Boolean(current);
  draw();
  next();
  guesses();
}

export function close() {
  render(null, root);
  root = null;
}

export function update(shared, news = {}) {
  if (!root) return;
  const touched = new Map((news.touched || []).map((one) => [one.id, one]));
  for (const one of list?.samples || []) if (touched.has(one.id)) one.done = touched.get(one.id).label ?? (touched.get(one.id).excluded ? "excluded" : null);
  const own = current && touched.get(current.id);
  // A class that is half typed is meant for this sample; if another tab has labelled it, it is refused.
  if (!current || (own && !busy && !typing() && (own.label !== null || own.excluded || own.skipped))) next();
  else if (current && !busy && (news.more || "guessed" in news)) look();
  if ("guessed" in news || news.more) {
    if (mayReload({ inside, ticked: ticks.size })) guesses(false);
    else newer = true;
  }
  draw();
}

export function undone(shared, after) { acted += 1; show(after.next[0] || null); look(); guesses(); }

// There may be a guess for the sample that is shown, or another tab may have labelled it.
async function look() {
  if (!current) return;
  const { id } = current, mine = (looks += 1), found = await ask(`/api/row/${id}`).catch(() => null);
  if (!found || mine !== looks || busy || current?.id !== id || typing()) return;
  if (found.label !== null || found.excluded) { await next(); return; }
  if (current.guess && current.guess.label !== found.guess?.label) turned.guess = performance.now();
  current = { ...current, guess: found.guess };
  draw();
}

async function next() {
  const now = acted, before = current?.id, found = await ask("/api/next", { n: 1 }).catch(() => null);
  // Late: something was done, a class is being typed for the sample that is shown, or that is another by now.
  if (!found || busy || now !== acted || (current && typing())) return;
  if (current?.id !== before) { look(); return; }
  if (current && current.id !== found.next[0]?.id) turned.sample = performance.now();
  show(found.next[0] || null);
}

function show(sample) {
  isAsked = true;
  if (current?.id !== sample?.id) turned.shown = performance.now();
  current = sample;
  draw();
  // The field for a class may be far below; what is labelled with it must be seen.
  if (document.activeElement?.id === "class-name") document.getElementById("current-box")?.scrollIntoView({ block: "nearest" });
}

// While an action is on its way, a key would be meant for a sample that nobody has seen yet.
async function act(action, message) {
  if (busy) return;
  busy += 1;
  acted += 1;
  try {
    const after = await studio.act(action, message);
    busy -= 1;
    if (after.refused.length) say(`${message} ${after.refused.length} were refused: ${after.refused[0]}`);
    show(after.next[0] || null);
    if (after.isLate) look();
    return after;
  } catch {
    busy -= 1;
    await look();
    setTimeout(() => { if (typing()) field().focus(); });  // what was typed is in the field again: Enter is for it
  }
}

const give = (name) => current && isSeen("sample") && act({ do: "label", sample: current.id, label: name, was: current.label }, `${current.name} is ${name}.`);
const take = () => isSeen("guess") && give(current.guess.label);
const skip = () => current && isSeen("sample") && act({ do: "skip", sample: current.id, was: current.label }, `${current.name} is skipped.`);
const undo = () => studio.undo().catch(() => {});

const field = () => document.getElementById("class-name");
const typing = () => Boolean(field()?.value);

function typed(text) {
  if (!current || busy) return false;
  const { id } = current, given = give(matching(text, studio.state.classes.map((one) => one.label)));
  if (given) given.then((after) => {
    if (!after && current?.id === id && field() && !typing()) field().value = text;
    else if (after) leaveField();
  });
  return given;
}

// Who came to the field by a key goes on with keys: left there, the next digit would become the name of a class.
function leaveField() {
  if (isByKey && field() && !typing()) field().blur();
  isByKey = false;
}

// A button that was clicked does not keep the focus: it would take the Enter that is meant for the next guess, and give the
// class of the sample before.
document.addEventListener("click", (event) => {
  const button = root && event.detail > 0 && event.target.closest("button:not([role=tab])");
  if (!button || button.closest("dialog")) return;
  button.blur();
  if (event.detail > 1 && isNew("shown") && button.closest("#current-box, .classes")) event.stopPropagation();
}, true);

// A key that is held down is for the sample at which it was pressed, not for those that follow.
document.addEventListener("keydown", (event) => {
  if (root && event.repeat && !event.target.matches("input:not([type=checkbox]), select, textarea") && /^(\d|Enter|[su])$/.test(event.key)) event.preventDefault();
}, true);

document.addEventListener("keydown", (event) => {
  if (!root || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target.id === "class-name") { event.target.blur(); isByKey = false; return; }
  if (event.target.matches("input:not([type=checkbox]), select, textarea") || !keys || event.target.closest("dialog")) return;
  if (/^\d$/.test(event.key)) { const name = classOfKey(event.key, studio.state.classes.map((one) => one.label)); if (name !== undefined) give(name); }
  else if (event.key === "Enter" && current?.guess && !event.target.matches("button:not([role=tab]), a, summary")) take();
  else if (event.key === "s") skip();
  else if (event.key === "u") undo();
  else if (event.key === "z" && current) openOne(current);
  else if (event.key === "/" || event.key === "n") { isByKey = true; field().focus(); }
  else return;
  event.preventDefault();
});

let asked = 0;
async function guesses(wanted = true) {
  const path = filter === null ? "/api/surest" : `/api/surest?label=${encodeURIComponent(filter)}`, own = (asked += 1);
  const found = await ask(path).catch(() => null);
  if (!found || own !== asked || !root) return;
  if (!wanted && !mayReload({ inside, ticked: ticks.size })) { newer = true; draw(); return; }
  list = found;
  newer = false;
  ticks.clear();
  draw();
}

const isTicked = (one) => !one.done && (ticks.get(one.id) ?? one.ticked);

function tick(places, wanted) {
  for (const place of places) if (!list.samples[place].done) ticks.set(list.samples[place].id, wanted);
  draw();
}
const tickAll = (wanted) => tick(list.samples.keys(), wanted);

async function accept() {
  const labels = list.samples.filter(isTicked).map((one) => [one.id, one.guess.label]);
  if (await act({ do: "accept", labels }, `${labels.length} guesses are accepted.`)) await guesses();
}

function Current() {
  if (!current && !isAsked) return html`<${Empty} title="Looking for the sample that would help most."><p class="busy">One moment</p><//>`;
  if (!current) {
    const { skipped, waiting } = studio.state;
    return html`<${Empty} title=${`Nothing waits for a label${waiting ? " here" : ""}`}>
      <p>${waiting ? `The last ${count(waiting)} are open in other tabs.` : skipped ? "All others have a label." : "All samples have a label. Export them, or look for wrong ones in Audit."}</p>
      ${skipped > 0 && html`<p><button class="main" data-key="return" onClick=${() => act({ do: "return" }, "Skipped samples wait again.")}>Look at the ${skipped} skipped again</button></p>`}<//>`;
  }
  const { guess } = current;
  return html`<div class="stage"><${Picture} key=${current.id} sample=${current} /></div>
    <h3 id="current">${current.name}</h3>
    <p id="guess">${guess
      ? html`<button class=${guess.confidence < 0.5 ? "" : "main"} onClick=${take}><kbd>Enter</kbd>It is ${guess.label} ${studio.state.estimate && html`<span class="sure">(${percent(guess.confidence, 0)} sure)</span>`}</button>`
      : html`<span class="quiet">${studio.state.ready ? "No guess yet." : "Give labels of two classes, then there are guesses."}</span>`}</p>
    <div class="row"><button data-key="skip" onClick=${skip}><kbd>s</kbd>Skip</button>
      <button data-key="undo" onClick=${undo} disabled=${!studio.state.can_undo}><kbd>u</kbd>Undo</button>
      <button data-key="zoom" onClick=${() => openOne(current)}><kbd>z</kbd>Zoom</button></div>`;
}

function Classes() {
  const { classes } = studio.state, names = classes.map((one) => one.label);
  const buttons = classes.map((one, place) => {
    const key = keyOfClass(one.label, place, names);
    return html`<button key=${one.label} data-key=${`class ${one.label}`} onClick=${() => give(one.label)}>${key && html`<kbd>${key}</kbd>`}${one.label} <span class="quiet">${count(one.count)}</span></button>`;
  });
  return html`<h3>Which class is it?</h3>
    ${classes.length <= 30 ? html`<div class="classes">${buttons}</div>` : html`<p class="quiet">${classes.length} classes; type the first letters of one.</p>`}
    <${ClassField} id="class-name" title="Class, known or new" hint="/" classes=${classes} give=${typed} />
    <p class="quiet option"><input type="checkbox" id="keys" checked=${keys} onChange=${(event) => { keys = event.target.checked; draw(); }} /><label for="keys">Single keys: a digit gives a class, Enter takes the guess, s skips, u undoes, z zooms</label></p>`;
}

const noted = (one) => (one.done ? html`<span class="quiet">${one.done}</span>` : html`<strong class="label">${one.guess.label}</strong> <span class="quiet">${percent(one.guess.confidence, 0)}</span>`);

function Guesses() {
  if (!list) return html`<h3>Guesses for the rest</h3><p class="quiet busy">One moment</p>`;
  const chosen = list.samples.filter(isTicked).length;
  const hold = (held) => () => { inside = held; };
  return html`<h3>Guesses for the rest, the surest first</h3>
    <div class="row"><label for="filter">Show</label>
      <select id="filter" data-key="filter" value=${filter ?? ""} onChange=${(event) => { filter = event.target.value === "" ? null : event.target.value; list = { ...list, samples: [], total: 0, loading: true }; draw(); guesses(); }}>
        <option value="">all classes</option>${list.classes.map((one) => html`<option key=${one.label} value=${one.label}>${one.label} (${count(one.count)})</option>`)}</select>
      <button data-key="accept" disabled=${!chosen} onClick=${accept}>Accept ${chosen}</button>
      <button data-key="tick" disabled=${!list.samples.length} onClick=${() => tickAll(true)}>Tick all</button>
      <button data-key="untick" disabled=${!chosen} onClick=${() => tickAll(false)}>Untick all</button>
      ${newer && html`<button data-key="newer" onClick=${() => guesses()}>Show newer guesses</button>`}</div>
    <p class="quiet">${list.total ? `${list.samples.length < list.total ? `The ${list.samples.length} surest of ${count(list.total)}.` : `All ${count(list.total)}.`} ${list.why_not || `Guesses like those ticked are right at least ${percent(list.least_sure, 0)} of the time, tested on labels that were left out.`} Tick those that are right, then accept them all at once.` : withoutGuesses()}</p>
    <div onPointerEnter=${hold(true)} onPointerLeave=${hold(false)} onFocusIn=${hold(true)} onFocusOut=${hold(false)}>
      <${Grid} id="guesses" label="Guesses: the space bar ticks, Enter opens" count=${list.samples.length} sample=${(place) => list.samples[place]} kind=${kindOf(studio.state)} picks=${true} note=${noted}
        isSelected=${(place) => isTicked(list.samples[place])} select=${tick} open=${(place) => openViewer({ count: list.samples.length, sample: (at) => list.samples[at] }, place)} /></div>`;
}

function withoutGuesses() {
  if (list.loading) return "One moment.";
  if (!studio.state.waiting) return "No sample is waiting for a label.";
  if (filter !== null) return "No guess is of this class.";
  return studio.state.classes.filter((one) => one.count).length < 2 ? "Guesses appear when samples of two classes have a label." : "Guesses are being worked out.";
}

function draw() {
  if (!root) return;
  render(html`<h2>Label</h2><div class="columns work"><div>
    <section class="card current" id="current-box" aria-label="Sample to label"><${Current} /></section>
    <section aria-label="Classes"><${Classes} /></section></div>
    <section aria-label="Guesses"><${Guesses} /></section></div>`, root);
}
