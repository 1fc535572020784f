// Label: the pool, most useful first, by single keys; and guesses to accept many at once.
import { ask } from "/static/api.js";
import { el, percent, picture, redraw, say } from "/static/dom.js";

let studio, current = null, currentBox, classBox, guessBox, keys = true, filter = null, ticks = new Map(), known = new Map();

export function open(shared, panel) {
  studio = shared;
  currentBox = el("section", { class: "panel current", "aria-label": "Sample to label" });
  classBox = el("section", { class: "panel", "aria-label": "Classes" });
  guessBox = el("section", { class: "panel", "aria-label": "Guesses" });
  panel.replaceChildren(el("h2", { text: "Label" }), el("div", { class: "columns" }, el("div", {}, currentBox, classBox), guessBox));
  drawClasses();
  next();
  guesses();
}

export function update() {
  drawClasses();
  if (!current) next();
  else look();
  guesses();
}

export function undone(shared, after) { show(after.next[0] || null); guesses(); }

// Another tab may have labelled the sample that is shown here, or there may be a guess for it now.
async function look() {
  if (busy) return;
  const id = current.id, found = await ask(`/api/row/${id}`).catch(() => null);
  if (!found || busy || current?.id !== id) return;
  if (found.label !== null || found.excluded) next();
  else { current.guess = found.guess; drawGuess(); }
}

async function next() {
  const { next: found } = await ask("/api/next", { n: 1 });
  show(found[0] || null);
}

function show(sample) {
  if (sample && current && sample.id === current.id && currentBox.childElementCount) { current = sample; drawGuess(); return; }
  current = sample;
  // The field for a class may be far below; what is labelled with it must be seen.
  if (document.activeElement?.id === "class-name") currentBox.scrollIntoView({ block: "nearest" });
  if (!sample) {
    redraw(currentBox, el("h3", { text: "Nothing waits for a label" }), el("p", { text: studio.state.skipped ? "All others have a label; skipped samples can be labelled after Undo." : "All samples have a label. Export them, or look for wrong ones in Audit." }));
    return;
  }
  redraw(currentBox, el("h3", { id: "current", text: sample.name }), picture(sample), el("p", { id: "guess" }),
    el("div", { class: "row" }, el("button", { "data-key": "skip", onclick: skip }, el("kbd", { text: "s" }), "Skip"), el("button", { "data-key": "undo", onclick: () => studio.undo().catch(() => {}), disabled: !studio.state.can_undo }, el("kbd", { text: "u" }), "Undo")));
  drawGuess();
}

function drawGuess() {
  const place = document.getElementById("guess");
  if (!place) return;
  const guess = current?.guess;
  place.replaceChildren(guess
    ? el("button", { class: "main", onclick: () => give(guess.label) }, el("kbd", { text: "Enter" }), `It is ${guess.label} (${percent(guess.confidence, 0)} sure)`)
    : el("span", { class: "quiet", text: studio.state.ready ? "No guess yet." : "Give labels of two classes, then there are guesses." }));
}

// Digits press the class of that name if there is one, otherwise the class at that place.
function classOfKey(key) {
  const classes = studio.state.classes.map((one) => one.label);
  if (classes.includes(key)) return key;
  if (classes.some((name) => /^\d$/.test(name))) return undefined;
  return classes[key === "0" ? 9 : Number(key) - 1];
}

function keyOfClass(name, place) {
  const single = studio.state.classes.some((one) => /^\d$/.test(one.label));
  if (single) return /^\d$/.test(name) ? name : null;
  return place < 10 ? String((place + 1) % 10) : null;
}

function drawClasses() {
  const classes = studio.state.classes;
  const few = classes.length <= 30;
  const input = classBox.querySelector("#class-name") || el("input", { type: "text", id: "class-name", list: "class-names", autocomplete: "off", maxlength: "200", "data-key": "class-name" });
  const list = el("datalist", { id: "class-names" }, ...classes.map((one) => el("option", { value: one.label })));
  const form = el("form", { class: "row", onsubmit: (event) => { event.preventDefault(); typed(input); } }, el("label", { for: "class-name" }, "Class, known or new ", el("kbd", { text: "/" })), input, el("button", { text: "Give", "data-key": "give" }));
  const switcher = el("input", { type: "checkbox", id: "keys", checked: keys, onchange: (event) => { keys = event.target.checked; } });
  redraw(classBox, el("h3", { text: "Classes" }),
    few ? el("div", { class: "classes" }, ...classes.map((one, place) => {
      const key = keyOfClass(one.label, place);
      return el("button", { "data-key": `class ${one.label}`, onclick: () => give(one.label) }, key ? el("kbd", { text: key }) : null, `${one.label} `, el("span", { class: "quiet", text: `(${one.count})` }));
    })) : el("p", { class: "quiet", text: `${classes.length} classes; type the first letters of one.` }),
    form, list, el("p", {}, switcher, " ", el("label", { for: "keys", text: "Single keys: digits give a class, Enter takes the guess, s skips, u undoes" })));
}

function typed(input) {
  const text = input.value.trim();
  if (!text) return;
  const classes = studio.state.classes.map((one) => one.label);
  const begins = classes.filter((name) => name.toLowerCase().startsWith(text.toLowerCase()));
  const name = classes.includes(text) ? text : begins.length === 1 ? begins[0] : text;
  input.value = "";
  give(name);
}

// While an action is on its way, a key would be meant for a sample that nobody has seen yet.
let busy = 0;
async function give(name) {
  if (!current || busy) return;
  const sample = current;
  busy += 1;
  try {
    const after = await studio.act({ do: "label", sample: sample.id, label: name, was: sample.label }, `${sample.name} is ${name}.`);
    if (!studio.state.classes.some((one) => one.label === name)) await studio.refresh();
    show(after.next[0] || null);
  } catch { /* shown already */ } finally { busy -= 1; }
}

async function skip() {
  if (!current || busy) return;
  busy += 1;
  try {
    const after = await studio.act({ do: "skip", sample: current.id }, `${current.name} is skipped.`);
    show(after.next[0] || null);
  } catch { /* shown already */ } finally { busy -= 1; }
}

document.addEventListener("keydown", (event) => {
  if (!currentBox?.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea") || !keys) return;
  if (/^\d$/.test(event.key)) { const name = classOfKey(event.key); if (name !== undefined) give(name); }
  else if (event.key === "Enter" && current?.guess && !event.target.matches("button:not([role=tab]), a, summary")) give(current.guess.label);
  else if (event.key === "s") skip();
  else if (event.key === "u") studio.undo().catch(() => {});
  else if (event.key === "/" || event.key === "n") document.getElementById("class-name").focus();
  else return;
  event.preventDefault();
});

async function guesses() {
  const path = filter === null ? "/api/surest" : `/api/surest?label=${encodeURIComponent(filter)}`;
  const found = await ask(path).catch(() => null);
  if (!found) return;
  const select = el("select", { id: "filter", "data-key": "filter", onchange: (event) => { filter = event.target.value === "" ? null : event.target.value; guesses(); } },
    el("option", { value: "", text: "all classes" }), ...found.classes.map((one) => el("option", { value: one.label, text: `${one.label} (${one.count})`, selected: one.label === filter })));
  known = new Map(found.samples.map((one) => [one.id, one]));
  const button = el("button", { class: "main", "data-key": "accept", onclick: accept });
  const tiles = found.samples.map((one) => {
    const box = el("input", { type: "checkbox", "data-key": `guess ${one.id}`, checked: ticked(one), onchange: (event) => { ticks.set(one.id, event.target.checked); count(button); } });
    return el("li", { class: "tile" }, el("label", {}, picture(one), el("span", { class: "name", text: one.name }), box, ` ${one.guess.label} `, el("span", { class: "quiet", text: percent(one.guess.confidence, 0) })));
  });
  redraw(guessBox, el("h3", { text: "Guesses for the rest, the surest first" }),
    el("div", { class: "row" }, el("label", { for: "filter", text: "Show" }), select, button,
      el("button", { text: "Untick all", "data-key": "untick", onclick: () => { for (const id of known.keys()) ticks.set(id, false); guesses(); } })),
    el("p", { class: "quiet", text: found.total ? `${found.samples.length} of ${found.total}. Those that are at least 95 % sure are ticked. Untick what is wrong, then accept the others at once.` : withoutGuesses() }),
    el("ul", { class: "tiles", id: "guesses" }, ...tiles));
  count(button);
}

function withoutGuesses() {
  if (!studio.state.waiting) return "No sample is waiting for a label.";
  if (filter !== null) return "No guess is of this class.";
  return studio.state.classes.filter((one) => one.count).length < 2 ? "Guesses appear when samples of two classes have a label." : "Guesses are being worked out.";
}

// What a person did not touch is ticked if it is sure.
function ticked(one) { return ticks.get(one.id) ?? one.guess.confidence >= 0.95; }

function chosen() { return [...known.values()].filter(ticked); }

function count(button) {
  const n = chosen().length;
  button.textContent = `Accept ${n}`;
  button.disabled = n === 0;
}

async function accept() {
  const labels = chosen().map((one) => [one.id, one.guess.label]);
  busy += 1;
  try {
    const after = await studio.act({ do: "accept", labels }, `${labels.length} guesses are accepted.`);
    show(after.next[0] || null);
    await guesses();
  } catch { /* shown already */ } finally { busy -= 1; }
}
