// Browse: all samples, searched, filtered and sorted, as a grid or as a table; a window of them at a time.
import { ask, latest } from "/static/api.js";
import { Grid } from "/static/grid.js";
import { html, render } from "/static/htm-preact.js";
import { asked, kindOf, mayReload } from "/static/logic.js";
import { Empty, Known, count, percent } from "/static/parts.js";
import { keeper } from "/static/samples.js";
import { SelectionBar, keepTo, select, selected } from "/static/selection.js";
import { openViewer } from "/static/viewer.js";

const WAIT = 150;
const STATUSES = [["", "all"], ["waiting", "unlabelled"], ["skipped", "skipped"], ["labelled", "labelled"], ["changed", "changed by you"], ["suspicious", "suspicious"], ["excluded", "excluded"], ["held out", "held out"]];
const SORTS = [["number", "as given"], ["name", "name"], ["label", "label"], ["guess", "guess"], ["confidence", "confidence"], ["doubt", "suspicion"]];
const NOTHING = { text: "", status: "", label: "", guess: "", least: "", most: "", sort: "number", down: false };

let studio, root = null, found = null, window_ = [0, 0], wanted = { ...NOTHING }, table = false, newer = false, inside = false, timer = null, problem = false;
const samples = keeper(() => found.start, () => draw());

export function open(shared, panel) {
  studio = shared;
  root = panel;
  keepTo(studio.state);
  draw();
  search();
}

export function close() {
  render(null, root);
  root = null;
}

export function redraw() { draw(); }

export function update(shared, news = {}) {
  if (!root) return;
  if (found && found.start !== studio.state.start) { keepTo(studio.state); found = null; samples.forget(); wanted = { ...NOTHING }; search(); return; }
  if (samples.hear(news)) need(...window_);
  if (news.more || "guessed" in news || news.touched?.length) {
    if (depends() && mayReload({ inside, ticked: selected.size })) search();
    else if (depends()) newer = true;
  }
  draw();
}

// Whether the list itself may change with labels and guesses.
const depends = () => wanted.status || wanted.label || wanted.guess || wanted.least || wanted.most || !["number", "name"].includes(wanted.sort);

const search = latest(async () => {
  const answer = await ask(`/api/browse?${asked(wanted)}`).catch(() => null);
  problem = !answer;
  if (!answer || !root) { draw(); return; }
  found = answer;
  newer = false;
  draw();
});

function change(fields, soon = false) {
  wanted = { ...wanted, ...fields };
  clearTimeout(timer);
  timer = setTimeout(search, soon ? WAIT : 0);
  draw();
}

const need = (first, last) => { window_ = [first, last]; if (found) samples.load(found.numbers.slice(first, last)); };

function sortBy(name) { change({ sort: name, down: wanted.sort === name ? !wanted.down : false }); }

function columnsOf() {
  const { columns, pictures, kinds } = studio.state, sorted = (name) => (wanted.sort === name ? (wanted.down ? "descending" : "ascending") : "none");
  const column = (name, title, width, cell, number = false) => ({ title, width, cell, number, sorted: sorted(name), sort: () => sortBy(name) });
  const shown = pictures ? [] : columns.slice(0, 8).map((title, place) => column(String(place), title, (kinds[place] || "number") === "text" ? "minmax(14rem, 3fr)" : "minmax(6rem, 1fr)", (one) => String(one.row[place]?.[1] ?? "–"), (kinds[place] || "number") === "number"));
  return [
    { title: "✓", width: "2.5rem", cell: (one) => html`<span class="check" aria-hidden="true">${selected.has(one.number - 1) ? "✓" : ""}</span>` },
    column("name", "Name", "minmax(8rem, 2fr)", (one) => one.name), column("label", "Label", "minmax(7rem, 1fr)", (one) => html`<${Known} sample=${one} sure=${false} />`),
    column("confidence", "Confidence", "7rem", (one) => (one.guess ? percent(one.guess.confidence, 0) : ""), true),
    column("doubt", "Suspicion", "7rem", (one) => (one.doubt === undefined ? "" : percent(one.doubt, 0)), true), ...shown];
}

function Filters() {
  const { classes } = studio.state, value = (event) => event.target.value;
  const pick = (name, title, options) => html`<div class="field"><label for=${`by-${name}`}>${title}</label>
    <select id=${`by-${name}`} value=${wanted[name]} onChange=${(event) => change({ [name]: value(event) })}>${options.map(([one, text]) => html`<option key=${one} value=${one}>${text}</option>`)}</select></div>`;
  const names = [["", "any"], ...classes.map((one) => [one.label, one.label])];
  const isSet = depends() || wanted.text;
  return html`<form class="filters" role="search" onSubmit=${(event) => { event.preventDefault(); change({}); }}>
    <div class="field wide"><label for="search">Search</label><input type="search" id="search" autocomplete="off" maxlength="500" placeholder=${studio.state.columns.length ? `words, or ${example()}` : "words in a name"} onInput=${(event) => change({ text: value(event) }, true)} /></div>
    ${pick("status", "Status", STATUSES)}${pick("label", "Label", names)}${pick("guess", "Guess", names)}
    ${pick("least", "Confidence", [["", "any"], ["0.5", "at least 50 %"], ["0.8", "at least 80 %"], ["0.95", "at least 95 %"]])}
    ${pick("sort", "Sort by", SORTS.concat(isNaN(wanted.sort) ? [] : [[wanted.sort, studio.state.columns[wanted.sort]]]))}
    <div class="row"><button type="button" aria-pressed=${String(wanted.down)} onClick=${() => change({ down: !wanted.down })}>${wanted.down ? "↓ Descending" : "↑ Ascending"}</button>
      <button type="button" id="as-table" aria-pressed=${String(table)} onClick=${() => { table = !table; draw(); }}>Table</button>
      ${isSet && html`<button type="button" id="clear" onClick=${clear}>Clear filters</button>`}</div></form>`;
}

function clear() {
  document.getElementById("search").value = "";
  change({ ...NOTHING });
}

function example() {
  const { columns, kinds } = studio.state, place = Math.max(0, columns.findIndex((_, i) => (kinds[i] || "number") === "number"));
  const name = columns[place];
  return `${/\s/.test(name) ? `"${name}"` : name}${(kinds[place] || "number") === "number" ? ">1" : "=word"}`;
}

function Samples() {
  if (problem && !found) return html`<${Empty} title="The samples could not be read."><button onClick=${() => search()}>Try again</button><//>`;
  if (!found) return html`<p class="quiet busy">One moment</p>`;
  const n = found.numbers.length;
  const hold = (held) => () => { inside = held; };
  return html`<p class="summary" role="status"><span id="found">${n === found.total ? `${count(n)} samples` : `${count(n)} of ${count(found.total)} samples`}</span>
      ${newer && html` <button data-key="newer" onClick=${() => search()}>Update the list</button>`}</p>
    ${!n && html`<${Empty} title="No sample matches."><p>Search for fewer words, or clear the filters.</p><//>`}
    <div onPointerEnter=${hold(true)} onPointerLeave=${hold(false)} onFocusIn=${hold(true)} onFocusOut=${hold(false)}>
    <${Grid} id="samples" label="Samples" count=${n} sample=${(place) => samples.at(found.numbers[place])} need=${need} stamp=${found} kind=${kindOf(studio.state)} columns=${table ? columnsOf() : null}
      isSelected=${(place) => selected.has(found.numbers[place])} select=${(places, want) => { select(places.map((place) => found.numbers[place]), want); draw(); }}
      open=${(place) => openViewer({ count: n, sample: (at) => samples.promised(found.numbers[at]) }, place)} /></div>`;
}

function draw() {
  if (!root) return;
  render(html`<h2>Browse</h2><${Filters} /><${SelectionBar} studio=${studio} /><${Samples} />
    <p class="quiet keys">A click opens a sample, a click on its circle selects it. By keyboard: arrows move, <kbd>Space</kbd> selects, <kbd>Shift</kbd> with arrows selects several, <kbd>Ctrl</kbd>+<kbd>A</kbd> all, <kbd>Enter</kbd> opens.</p>`, root);
}
