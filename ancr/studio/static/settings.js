// The settings of a classifier as sliders, switches and choices, as the server describes them.
import { html } from "/static/htm-preact.js";

const number = (value) => Number(value).toPrecision(3).replace(/\.?0+$/, "");
const shown = (value) => (value === null ? "hard" : typeof value === "number" ? number(value) : value);

function Choice({ id, title, values, value, take, help }) {
  return html`<div class="setting"><label for=${id}>${title}</label>
    <select id=${id} data-key=${id} title=${help} value=${value} onChange=${(event) => take(event.target.value)}>${values.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></div>`;
}

function Switch({ id, title, value, take, help }) {
  return html`<div class="setting"><label for=${id}>${title}</label><input type="checkbox" id=${id} data-key=${id} title=${help} checked=${value} onChange=${(event) => take(event.target.checked)} /></div>`;
}

function Slider({ id, title, control, value, slide }) {
  const place = (one) => (control.log ? Math.log10(one) : one), { low, high } = control;
  const start = value === null ? high : typeof value === "number" ? value : control.log ? Math.sqrt(low * high) : low;
  const moved = (event) => {
    const at = Number(event.target.value), reached = Number((control.log ? 10 ** at : at).toPrecision(3));
    slide(control.optional && at >= place(high) ? null : Math.min(Math.max(reached, low), high));
  };
  return html`<div class="setting"><label for=${id}>${title}</label><output for=${id}>${shown(value)}</output>
    <input type="range" id=${id} data-key=${id} title=${control.help} min=${place(low)} max=${place(high)} step=${control.whole ? 1 : 0.05} value=${place(start)} aria-valuetext=${shown(value)} onInput=${moved} /></div>`;
}

// change(settings): others, whose controls must be asked for; slide(name, value): one number, at once.
export function Settings({ methods, settings, controls, change, slide }) {
  return html`<${Choice} id="method" title="Method" values=${methods} value=${settings.method} take=${(method) => change({ method })} />
    ${controls.map((control) => {
      const id = control.name.split("__").pop(), title = control.symbol ? `${control.title}, ${control.symbol}` : control.title;
      const take = (value) => change({ ...settings, [control.name]: value }), { kind, help } = control;
      if (kind === "choice") return html`<${Choice} key=${id} id=${id} title=${title} values=${control.choices} value=${control.value} take=${take} help=${help} />`;
      if (kind === "switch") return html`<${Switch} key=${id} id=${id} title=${title} value=${control.value} take=${take} help=${help} />`;
      if (kind === "number") return html`<${Slider} key=${id} id=${id} title=${title} control=${control} value=${settings[control.name]} slide=${(value) => slide(control.name, value)} />`;
      return html`<div key=${id} class="setting"><span>${title}</span><output>${control.value}</output></div>`;
    })}`;
}
