// Compare: methods on the same folds, a table to sort, confusions whose cells open the samples, learning curves.
import { ask } from "/static/api.js";
import { Grid } from "/static/grid.js";
import { html, render } from "/static/htm-preact.js";
import { kindOf, short, unbroken } from "/static/logic.js";
import { Empty, Job, say } from "/static/parts.js";
import { openViewer } from "/static/viewer.js";

let studio, root = null, found = null, seen = null, order = { by: "accuracy", down: true }, method = null, cell = null;

const COLUMNS = [["method", "Method"], ["accuracy", "Accuracy, %"], ["sd", "± sd"], ["mark", "Against the best"], ["fit_s", "Fit, s"], ["predict_s", "Per sample, ms"], ["chosen", "Settings"]];
const NUMBERS = { accuracy: (v) => v.toFixed(2), sd: (v) => (v === null ? "" : v.toFixed(2)), fit_s: short, predict_s: (v) => short(1000 * v) };

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
  const key = JSON.stringify([studio.state.start, studio.state.done.compare ?? null]);
  if (key === seen) return;
  seen = key;
  cell = null;
  found = await ask("/api/compare").catch(() => found);
  draw();
}

function start() {
  say("Methods are being compared.");
  ask("/api/start/compare", {}).then(studio.refresh).catch(() => {});
}

const cancel = () => ask("/api/cancel/compare", {}).then(studio.refresh).catch(() => {});

function Table() {
  const rows = [...found.records].sort((a, b) => {
    const [x, y] = [a[order.by], b[order.by]];
    const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x ?? "").localeCompare(String(y ?? ""));
    return order.down ? -sign : sign;
  });
  const sort = (name) => () => { order = { by: name, down: order.by === name ? !order.down : typeof rows[0][name] === "number" }; draw(); };
  const direction = (name) => (order.by === name ? (order.down ? "descending" : "ascending") : "none");
  const text = (row, name) => String(NUMBERS[name] ? NUMBERS[name](row[name]) : row[name] ?? "");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of methods"><table id="methods">
    <thead><tr>${COLUMNS.map(([name, title]) => html`<th key=${name} scope="col" class=${NUMBERS[name] ? "number" : ""} aria-sort=${direction(name)}><button data-key=${`sort ${name}`} onClick=${sort(name)}>${title}${{ ascending: " ↑", descending: " ↓" }[direction(name)] || ""}</button></th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.method}>${COLUMNS.map(([name]) => (name === "method" ? html`<th scope="row">${text(row, name)}</th>` : html`<td class=${NUMBERS[name] ? "number" : ""}>${text(row, name)}</td>`))}</tr>`)}</tbody></table></div>`;
}

async function look(truth, predicted) {
  const samples = await ask(`/api/confused?method=${encodeURIComponent(method)}&truth=${truth}&predicted=${predicted}`).catch(() => null);
  if (samples) cell = { ...samples, title: `${samples.total} of class ${found.classes[truth]} answered ${found.classes[predicted]} by ${method}` };
  draw();
}

function Matrix({ matrix, classes }) {
  const part = (truth, predicted) => {
    const n = matrix[truth][predicted];
    return html`<td class=${n ? (truth === predicted ? "right" : "wrong") : ""}>${n > 0 && html`<button data-key=${`cell ${truth} ${predicted}`} aria-label=${`${n} of class ${classes[truth]} answered ${classes[predicted]}`} onClick=${() => look(truth, predicted)}>${n}</button>`}</td>`;
  };
  return html`<table class="confusion" id="confusion"><thead><tr><td></td>${classes.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${classes.map((name, truth) => html`<tr><th scope="row">${name}</th>${classes.map((_, predicted) => part(truth, predicted))}</tr>`)}</tbody></table>`;
}

function MostConfused({ matrix, classes }) {
  const cells = matrix.flatMap((row, truth) => row.map((n, predicted) => ({ truth, predicted, n }))).filter((one) => one.truth !== one.predicted && one.n);
  return html`<ul class="plain">${cells.sort((a, b) => b.n - a.n).slice(0, 60).map((one) => html`<li><button data-key=${`cell ${one.truth} ${one.predicted}`} onClick=${() => look(one.truth, one.predicted)}>${one.n} of ${classes[one.truth]} answered ${classes[one.predicted]}</button></li>`)}</ul>`;
}

function Confusion() {
  const names = found.records.map((row) => row.method);
  if (!names.includes(method)) [method] = names;
  const matrix = found.confusion[method], { classes } = found;
  return html`<section aria-label="Confusion"><h3>Confusion: true class in rows, answer in columns</h3>
    <div class="row"><label for="method">Method</label><select id="method" data-key="method" value=${method} onChange=${(event) => { method = event.target.value; cell = null; draw(); }}>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">${classes.length <= 40 ? html`<${Matrix} matrix=${matrix} classes=${classes} />` : html`<${MostConfused} matrix=${matrix} classes=${classes} />`}</div>
    <div id="samples-of-cell" aria-live="polite">${cell && html`<h3>${cell.title}</h3><${Grid} id="cell-samples" label=${cell.title} count=${cell.samples.length} sample=${(place) => cell.samples[place]} kind=${kindOf(studio.state)} open=${(place) => openViewer({ count: cell.samples.length, sample: (at) => cell.samples[at] }, place)} />`}</div></section>`;
}

function Curve() {
  const entries = Object.entries(found.curves);
  if (!entries.length) return null;
  const width = Math.min(560, innerWidth - 32), height = 260, left = 48, bottom = 34, points = entries.flatMap(([, line]) => line);
  const [lowX, highX] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  const [lowY, highY] = [Math.min(...points.map((p) => p[1])) - 1, Math.max(...points.map((p) => p[1])) + 1];
  const x = (value) => left + ((value - lowX) / (highX - lowX || 1)) * (width - left - 120);
  const y = (value) => height - bottom - ((value - lowY) / (highY - lowY || 1)) * (height - bottom - 14);
  const lines = entries.map(([name, line], place) => {
    const [lastX, lastY] = line[line.length - 1];
    return html`<polyline class=${`line line-${place % 4}`} points=${line.map(([n, value]) => `${x(n)},${y(value)}`).join(" ")} /><text x=${x(lastX) + 8} y=${y(lastY) + 4 + 13 * place}>${name}</text>`;
  });
  return html`<section aria-label="Learning curve"><h3>Would more labels help?</h3>
    <svg viewBox=${`0 0 ${width} ${height}`} class="curve" role="img" aria-label="Learning curves: accuracy over the number of training samples; the table below has the numbers">
      <line class="axis" x1=${left} x2=${width - 120} y1=${height - bottom} y2=${height - bottom} /><line class="axis" x1=${left} x2=${left} y1="10" y2=${height - bottom} />
      ${[lowY + 1, highY - 1].map((value) => html`<text x="4" y=${y(value) + 4}>${value.toFixed(1)} %</text>`)}${[lowX, highX].map((value) => html`<text x=${x(value) - 10} y=${height - 12}>${Math.round(value)}</text>`)}
      <text x=${(left + width - 120) / 2 - 50} y=${height - 12}>training samples</text>${lines}</svg>
    <details><summary>Numbers</summary><table><thead><tr><th scope="col">Method</th><th scope="col" class="number">Training samples</th><th scope="col" class="number">Accuracy, %</th></tr></thead>
      <tbody>${entries.flatMap(([name, line]) => line.map(([n, value]) => html`<tr><th scope="row">${name}</th><td class="number">${Math.round(n)}</td><td class="number">${value.toFixed(2)}</td></tr>`))}</tbody></table></details></section>`;
}

function draw() {
  if (!root) return;
  const [first, ...rest] = (found?.lines || []).map(unbroken);
  const job = html`<${Job} studio=${studio} name="compare" idle=${found ? "Compare again" : "Compare methods"} again=${Boolean(found)} running="Comparing" start=${start} cancel=${cancel} />`;
  render(html`<h2>Compare</h2>${!found
    ? html`<${Empty} title="Which method is best for this data?"><p>Methods are run on the same folds of the labelled samples, each with settings chosen on its training folds. This takes from seconds to minutes.</p>${job}<//>`
    : html`<div class="verdict"><div><p class="lead">${first}</p><ul class="notes">${rest.map((line) => html`<li key=${line}>${line}</li>`)}</ul></div>${job}</div><${Table} /><div class="columns halves"><${Confusion} /><${Curve} /></div>`}`, root);
}
