// Samples that are selected, by number, for all views; and what can be done to all of them at once.
import { html } from "/static/htm-preact.js";
import { matching } from "/static/logic.js";
import { ClassField, complain, count, say } from "/static/parts.js";

export const selected = new Set();
let start = null;

// Numbers are those of one start of the server: after another they may be other samples.
export function keepTo(state) {
  if (state.start !== start) selected.clear();
  start = state.start;
}

export function select(numbers, wanted) {
  for (const number of numbers) (wanted ? selected.add(number) : selected.delete(number));
}

async function actOnAll(studio, action, done) {
  const numbers = [...selected];
  const after = await studio.act({ ...action, numbers, start: studio.state.start, seen: studio.state.version }, done).catch(() => null);
  if (!after) return;
  const refused = after.refused.length;
  if (refused) complain(`${count(refused)} of ${count(numbers.length)} were left as they are: ${after.refused[0]}`);
  else say(done);
  selected.clear();
  studio.redraw();
}

export function SelectionBar({ studio, children }) {
  const n = selected.size, { classes } = studio.state;
  const give = (text) => {
    const name = matching(text, classes.map((one) => one.label));
    actOnAll(studio, { do: "label", label: name }, `${count(n)} samples are ${name}.`);
  };
  const act = (kind, message) => () => actOnAll(studio, { do: kind }, `${count(n)} samples ${message}.`);
  return html`<section class="selection" aria-label="What is selected" hidden=${!n}><strong id="selected">${count(n)} selected</strong>
    <${ClassField} id="many-class" title="They are" classes=${classes} give=${give} button=${`Label ${count(n)}`} />
    <div class="row"><button data-key="exclude" onClick=${act("exclude", "are excluded")}>Exclude</button>
    <button data-key="include" onClick=${act("include", "are used again")}>Include</button>
    <button data-key="unlabel" onClick=${act("unlabel", "have no label now")}>Remove labels</button>
    ${children}<button data-key="none" onClick=${() => { selected.clear(); studio.redraw(); }}>Select none</button></div></section>`;
}
