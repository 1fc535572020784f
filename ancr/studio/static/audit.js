// Audit: suspicious labels, with the samples that speak for and against each.
import { ask } from "/static/api.js";
import { el, percent, redraw, say, tile } from "/static/dom.js";

let studio, box, found = null, seen = null;

export function open(shared, panel) {
  studio = shared;
  box = el("div");
  panel.replaceChildren(el("h2", { text: "Audit" }), box);
  seen = null;
  load();
}

export function update() { load(); }

async function load() {
  const key = JSON.stringify([studio.state.busy.audit, studio.state.version, studio.state.done.audit, studio.state.estimate]);
  if (key === seen) return;
  seen = key;
  found = await ask("/api/audit").catch(() => found);
  draw();
}

function start() {
  say("The labels are being audited.");
  ask("/api/start/audit", {}).then(studio.refresh).catch(() => {});
}

function draw() {
  const busy = studio.state.busy.audit, problem = studio.state.problems.audit;
  const button = el("button", { class: busy ? "main busy" : "main", "data-key": "start", disabled: busy || !studio.state.ready, onclick: start, text: busy ? "Auditing" : found ? "Audit again" : "Audit the labels" });
  const parts = [el("div", { class: "panel" }, el("p", { text: "Each labelled sample is judged by all others. Labels that they contradict come first." }), button, problem ? el("p", { class: "rejected", text: problem }) : null, ...summary())];
  if (found) {
    parts.push(el("div", { id: "cases" }, ...found.suspicious.map(one)));
    parts.push(...pairs("Near-duplicates", "No labelled samples are nearly the same.", found.duplicates));
    if (studio.state.held_out) parts.push(...pairs("Leaks: held-out samples that are nearly the same as a labelled one", "No held-out sample is nearly the same as a labelled one.", found.leaks));
  }
  redraw(box, parts);
}

function summary() {
  if (!found) return [];
  const { estimate, low, high } = found.errors, now = studio.state.estimate;
  const effect = now && now.current ? `Leave-one-out accuracy was ${percent(found.accuracy)} at the audit and is ${percent(now.accuracy)} now.` : `Leave-one-out accuracy was ${percent(found.accuracy)} at the audit; it is being brought up to date.`;
  return [el("p", { text: `About ${Math.round(estimate)} of ${found.n} labels are wrong (${Math.round(low)} to ${Math.round(high)}).` }), el("p", { id: "effect", text: effect })];
}

function one(entry) {
  const { sample } = entry, key = `case ${sample.id}`;
  const act = (action, message) => studio.act(action, message).then(studio.refresh).catch(() => {});
  const give = (label) => act({ do: "label", sample: sample.id, label }, `${sample.name} is ${label} now.`);
  const select = el("select", { "aria-label": `Another class for ${sample.name}`, "data-key": `${key} other`, onchange: (event) => event.target.value && give(event.target.value) },
    el("option", { value: "", text: "another class…" }), ...studio.state.classes.map((name) => el("option", { value: name.label, text: name.label })));
  const differs = entry.suggested !== sample.label;
  const sides = [["against", `Against ${entry.label}`], ["for", `For ${entry.label}`]].map(([side, title]) => el("div", {}, el("h4", { text: title }),
    entry[side].length ? el("ul", { class: "tiles" }, ...entry[side].map((witness) => tile(witness, el("strong", { text: witness.label ?? "no label" }), el("div", { class: "quiet", text: `weight ${witness.weight.toFixed(3)}` })))) : el("p", { class: "quiet", text: "None." })));
  return el("section", { class: `panel case${entry.decided ? " decided" : ""}`, "aria-label": `Label of ${sample.name}` },
    el("div", { class: "tile" }, ...tile(sample).childNodes),
    el("div", {}, el("h3", { text: `${sample.label ?? "no label"}${differs ? ` → ${entry.suggested}?` : ""}` }),
      el("p", { text: `The label ${entry.label} is right with probability ${percent(entry.probability, 0)}.${entry.decided ? ` You ${{ kept: "kept it", relabelled: "changed it", excluded: "excluded the sample" }[entry.decided]}.` : ""}` }),
      el("div", { class: "row" },
        el("button", { "data-key": `${key} keep`, text: "Keep", onclick: () => act({ do: "keep", sample: sample.id }, `${sample.name} keeps its label.`) }),
        el("button", { "data-key": `${key} relabel`, class: differs ? "main" : "", disabled: !differs, text: `It is ${entry.suggested}`, onclick: () => give(entry.suggested) }), select,
        el("button", { "data-key": `${key} exclude`, text: sample.excluded ? "Include again" : "Exclude", onclick: () => act({ do: sample.excluded ? "include" : "exclude", sample: sample.id }, sample.excluded ? `${sample.name} is used again.` : `${sample.name} is excluded.`) })),
      el("div", { class: "sides" }, ...sides)));
}

function pairs(title, none, list) {
  return [el("h3", { text: title }), list.length ? el("ul", { class: "pairs" }, ...list.map(([first, second, distance]) => el("li", {}, el("div", { class: "tile" }, ...tile(first).childNodes, el("strong", { text: first.label ?? "" })), el("div", { class: "tile" }, ...tile(second).childNodes, el("strong", { text: second.label ?? "" })), el("span", { class: "quiet", text: `distance ${distance.toPrecision(2)}` })))) : el("p", { class: "quiet", text: none })];
}
