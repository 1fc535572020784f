// Try: draw, drop, paste, pick or edit a query, and see the answer with the samples that decided.
import { ask, latest, upload } from "/static/api.js";
import { bar, complain, el, percent, picture, redraw, say, tile } from "/static/dom.js";
import { Drawing } from "/static/drawing.js";

let studio, query, settings, controls, answerBox, settingsBox, drawing, sampleBox, waiting = false, judged = "";

export function open(shared, panel) {
  studio = shared;
  takeOver();
  answerBox = el("section", { class: "panel answer", "aria-label": "Answer" }, el("p", { class: "quiet", text: "The answer appears here." }));
  settingsBox = el("section", { class: "panel", "aria-label": "Settings" });
  sampleBox = el("section", { class: "panel", "aria-label": "Query" });
  panel.replaceChildren(el("h2", { text: "Try" }), el("div", { class: "columns" }, el("div", {}, sampleBox, settingsBox), answerBox));
  drawQuery();
  drawSettings();
  if (query) run();
}

export function update() {
  if (waiting && studio.state.chosen && !studio.state.busy.choose) {
    waiting = false;
    say(`Settings chosen: ${percent(studio.state.chosen.accuracy)} by leave-one-out.`);
    change(studio.state.chosen.settings);
    return;
  }
  if (!answerBox) return;
  drawButtons();
  // Probabilities are calibrated anew after every label and change of settings.
  const now = JSON.stringify(studio.state.estimate);
  if (now !== judged) { judged = now; run(); }
}

export function close() { answerBox = null; }

export function undone() { takeOver(); drawSettings(); run(); }

// The settings in use, and what can be changed about them.
function takeOver() { settings = { ...studio.state.settings }; controls = studio.state.controls; }

// Other settings: what can be changed about them is asked for, since a method or a kernel has parameters of its own.
async function change(wanted) {
  const found = await ask("/api/controls", { settings: wanted }).catch(() => null);
  if (!found) return;
  ({ settings, controls } = found);
  drawSettings();
  run();
}

function drawQuery() {
  const state = studio.state, parts = [el("h3", { text: "Query" })];
  if (state.draws) {
    drawing = new Drawing((blob) => ask_image(blob, true));
    parts.push(drawing.element);
  }
  if (state.takes_images) {
    const file = el("input", { type: "file", accept: "image/*", id: "file", class: "hidden-input", onchange: (event) => event.target.files[0] && ask_image(event.target.files[0], false) });
    const zone = el("div", { class: "drop" }, el("p", { text: "Drop or paste an image here, or" }), el("label", { for: "file", class: "button", text: "Choose an image…" }), file);
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); const image = event.dataTransfer.files[0]; if (image) ask_image(image, false); });
    parts.push(zone);
  }
  const kinds = [["held out", state.held_out], ["pool", state.waiting], ["labelled", state.labelled]].filter(([, count]) => count);
  parts.push(el("p", {}, "Or take a random sample:"), el("div", { class: "row" },
    ...kinds.map(([kind]) => el("button", { text: kind === "pool" ? "Waiting" : kind[0].toUpperCase() + kind.slice(1), "data-kind": kind, onclick: () => random(kind) }))));
  const number = el("input", { type: "number", min: "1", max: String(state.samples), id: "number", placeholder: "1" });
  parts.push(el("form", { class: "row", onsubmit: (event) => { event.preventDefault(); const place = Number(number.value); if (place >= 1) ask(`/api/number/${place}`).then((found) => pick(found.id)).catch(() => {}); } },
    el("label", { for: "number", text: "Sample number" }), number, el("button", { text: "Show" })));
  const words = el("input", { type: "search", id: "words" }), hits = el("div", { id: "hits" });
  parts.push(el("form", { class: "row", onsubmit: (event) => { event.preventDefault(); search(words.value, hits); } },
    el("label", { for: "words", text: "Words in a name or a text" }), words, el("button", { text: "Search" })), hits);
  parts.push(el("div", { id: "editor" }));
  redraw(sampleBox, parts);
}

async function search(text, box) {
  const found = await ask(`/api/search?text=${encodeURIComponent(text)}`).catch(() => null);
  if (!found) return;
  const tiles = found.samples.map((one) => tile(one, el("strong", { text: one.label ?? "no label" }), el("button", { text: "Try", "data-key": `try ${one.id}`, onclick: () => pick(one.id) })));
  redraw(box, el("p", { class: "quiet", role: "status", text: found.total ? `${found.samples.length} of ${found.total} samples` : "No sample has these words." }), el("ul", { class: "tiles" }, ...tiles));
}

document.addEventListener("paste", (event) => {
  if (!answerBox?.isConnected) return;
  const image = [...(event.clipboardData?.files || [])].find((file) => file.type.startsWith("image/"));
  if (image) ask_image(image, false);
});

async function random(kind) {
  const sample = await ask(`/api/random?kind=${encodeURIComponent(kind)}`).catch(() => null);
  if (sample) pick(sample.id);
}

async function pick(id) {
  query = { kind: "sample", body: { sample: id } };
  if (!studio.state.pictures) await editor(id);
  run();
}

// A column of numbers; arrays have no others.
function isNumber(place) { return (studio.state.kinds[place] || "number") === "number"; }

async function editor(id) {
  const { row, name } = await ask(`/api/row/${id}`);
  const fields = row.map(([column, value], place) => {
    const input = isNumber(place)
      ? el("input", { type: "number", step: "any", id: `cell-${place}`, value: String(value ?? "") })
      : el(studio.state.kinds[place] === "text" ? "textarea" : "input", { id: `cell-${place}` });
    if (!isNumber(place)) input.value = value ?? "";
    input.addEventListener("input", () => {
      const cells = fields.map((field, at) => (field.value === "" ? null : isNumber(at) ? field.valueAsNumber : field.value));
      const known = cells.every((cell, at) => (cell === null ? studio.state.kinds.length > 0 : !isNumber(at) || Number.isFinite(cell)));
      if (known) { query = { kind: "row", body: { row: cells, sample: id } }; run(); }
    });
    return input;
  });
  const labels = row.map(([column], place) => el("label", { for: `cell-${place}`, text: column }));
  document.getElementById("editor").replaceChildren(el("h3", { text: `Edit ${name}` }),
    el("div", { class: "editor" }, ...fields.flatMap((field, place) => [labels[place], field])));
}

function ask_image(blob, drawn) {
  if (blob.size > 16 * 2 ** 20) { complain("Only 16 MB can be sent at once."); return; }
  query = { kind: "image", blob, drawn };
  run();
}

const run = latest(async () => {
  if (!query) return;
  const body = { ...query.body, settings };
  const answer = query.kind === "image"
    ? await upload(`/api/image?drawn=${query.drawn ? 1 : 0}&settings=${encodeURIComponent(JSON.stringify(settings))}`, query.blob)
    : await ask("/api/answer", body);
  drawAnswer(answer);
});

function drawAnswer(answer) {
  const verdict = answer.accepted === null
    ? el("span", { class: "quiet", text: "Probabilities are not calibrated for these settings; use them to have that done." })
    : answer.accepted
      ? el("span", { class: "accepted", text: `Sure: at least ${percent(answer.promise.precision, 0)} of such answers are right, as samples that were left out show.` })
      : el("span", { class: "unsure", text: answer.promise.supported
        ? `Unsure: samples that were left out do not show that ${percent(answer.promise.precision, 0)} of such answers are right.`
        : `Unsure: the labels so far are too few, or too often wrong, to show that ${percent(answer.promise.precision, 0)} of any answers are right.` });
  const truth = answer.truth === null ? null : el("p", { class: "quiet", text: answer.truth === answer.label ? `Its label is ${answer.truth}: right.` : `Its label is ${answer.truth}: wrong.` });
  const images = answer.query ? [
    el("figure", {}, el("img", { src: answer.query, alt: "The query", class: "pixels" }), el("figcaption", { text: "query" })),
    el("figure", {}, el("img", { src: answer.reconstruction, alt: "The reconstruction of the query", class: "pixels" }), el("figcaption", { text: "reconstruction Xc" })),
  ] : query.kind === "sample" && studio.state.pictures ? [el("figure", {}, picture({ picture: true, id: query.body.sample, name: "the query" }), el("figcaption", { text: "query" }))] : [];
  const most = Math.max(...answer.classes.map((one) => one.residual), 1e-9);
  const rows = answer.classes.map((one) => el("tr", {}, el("th", { scope: "row", text: one.label }),
    el("td", {}, bar(one.probability)), el("td", { class: "number", text: percent(one.probability) }),
    el("td", {}, bar(one.residual / most, "residual")), el("td", { class: "number", text: one.residual.toFixed(3) })));
  const head = el("tr", {}, ...["Class", "", "Probability", "", "Residual"].map((text, place) => text ? el("th", { scope: "col", text, class: place ? "number" : "" }) : el("td")));
  const more = answer.n_classes > answer.classes.length ? el("p", { class: "quiet", text: `The best ${answer.classes.length} of ${answer.n_classes} classes.` }) : null;
  redraw(answerBox,
    el("h3", { text: "Answer" }),
    el("div", { class: "verdict" }, el("div", {}, el("strong", { id: "answer", text: answer.label }), el("span", { text: percent(answer.probability) }), " ", verdict, truth), ...images),
    el("h3", { text: "Classes" }), el("div", { class: "scroll" }, el("table", { class: "bars" }, el("thead", {}, head), el("tbody", {}, ...rows))), more,
    el("h3", { text: `Witnesses: ${answer.witnesses.length} of the ${answer.n_witnesses} samples that the answer is made of` }),
    el("ul", { class: "tiles", id: "witnesses" }, ...answer.witnesses.map((one) => tile(one, el("strong", { text: one.label }), el("div", { text: `weight ${one.weight.toFixed(3)}` }), el("div", { class: "quiet", text: `share ${percent(one.share)}` })))));
}

function drawSettings() {
  const parts = [el("h3", { text: "Settings" }), choice("method", "Method", studio.state.methods, settings.method, (value) => change({ method: value }))];
  for (const control of controls) {
    const id = control.name.split("__").pop();
    const title = control.symbol ? `${control.title}, ${control.symbol}` : control.title;
    const take = (value) => change({ ...settings, [control.name]: value });
    if (control.kind === "choice") parts.push(choice(id, title, control.choices, control.value, take, control.help));
    else if (control.kind === "switch") parts.push(check(id, title, control.value, take, control.help));
    else if (control.kind === "number") parts.push(slider(id, title, control));
    else parts.push(el("div", { class: "setting" }, el("span", { text: title }), el("output", { text: control.value })));
  }
  parts.push(el("div", { class: "row", id: "setting-buttons" }), el("p", { class: "quiet", id: "chosen" }));
  redraw(settingsBox, parts);
  drawButtons();
}

function choice(id, title, values, value, take, help = "") {
  const list = el("select", { id, "data-key": id, title: help, onchange: (event) => take(event.target.value) },
    ...values.map((one) => el("option", { value: one, text: one, selected: one === value })));
  return el("div", { class: "setting" }, el("label", { for: id, text: title }), list);
}

function check(id, title, value, take, help) {
  const box = el("input", { type: "checkbox", id, "data-key": id, title: help, onchange: (event) => take(event.target.checked) });
  box.checked = value;
  return el("div", { class: "setting" }, el("label", { for: id, text: title }), box);
}

function slider(id, title, control) {
  const place = (value) => control.log ? Math.log10(value) : value;
  const value = settings[control.name], none = value === null;
  const shown = (one) => one === null ? "hard" : typeof one === "number" ? number(one) : one;
  const output = el("output", { for: id, text: shown(value) });
  const start = none ? control.high : typeof value === "number" ? value : control.log ? Math.sqrt(control.low * control.high) : control.low;
  const input = el("input", { type: "range", id, "data-key": id, title: control.help, min: String(place(control.low)), max: String(place(control.high)), step: control.whole ? "1" : "0.05", value: String(place(start)) });
  input.setAttribute("aria-valuetext", output.textContent);
  input.addEventListener("input", () => {
    const at = Number(input.value);
    const hard = control.optional && at >= place(control.high);
    const reached = Number((control.log ? 10 ** at : at).toPrecision(3));
    settings[control.name] = hard ? null : Math.min(Math.max(reached, control.low), control.high);
    output.textContent = shown(settings[control.name]);
    input.setAttribute("aria-valuetext", output.textContent);
    drawButtons();
    run();
  });
  return el("div", { class: "setting" }, el("label", { for: id, text: title }), output, input);
}

const number = (value) => Number(value).toPrecision(3).replace(/\.?0+$/, "");

function drawButtons() {
  const box = document.getElementById("setting-buttons");
  if (!box) return;
  const state = studio.state, busy = state.busy.choose;
  const same = Object.keys(settings).every((name) => settings[name] === state.settings[name]);
  redraw(box,
    el("button", { class: "main", "data-key": "use", text: "Use these settings", disabled: same, onclick: () => studio.act({ do: "settings", settings }, "Settings are in use.").then(studio.refresh).then(run).catch(() => {}) }),
    el("button", { "data-key": "reset", text: "Back to those in use", disabled: same, onclick: () => { takeOver(); drawSettings(); run(); } }),
    el("button", { "data-key": "choose", class: busy ? "busy" : "", text: busy ? "Choosing" : "Choose for me", disabled: busy || !state.ready, onclick: () => { waiting = true; say("Choosing settings by leave-one-out."); ask("/api/start/choose", {}).then(studio.refresh).catch(() => { waiting = false; }); } }),
    busy ? el("button", { "data-key": "cancel", text: "Cancel", onclick: () => { waiting = false; ask("/api/cancel/choose", {}).then(studio.refresh).catch(() => {}); } }) : null);
  document.getElementById("chosen").textContent = state.chosen && !busy ? `Chosen from ${state.chosen.tried} settings: ${percent(state.chosen.accuracy)} by leave-one-out.` : busy ? `Settings are tried on samples that are left out${state.progress.choose ? `: ${state.progress.choose.done} of ${state.progress.choose.total} steps` : ""}…` : "";
}
