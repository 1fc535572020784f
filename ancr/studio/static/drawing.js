// A canvas to draw on with a pointer, or with the arrow keys and the space bar.
import { html, useLayoutEffect, useRef } from "/static/htm-preact.js";
import { say } from "/static/parts.js";

const SIDE = 256, STEP = 8, PAUSE = 120;

class Pen {
  constructor(canvas, changed) {
    Object.assign(this, { canvas, changed, x: SIDE / 2, y: SIDE / 4, isDown: false, isDrawing: false });
    this.brush = canvas.getContext("2d");
    this.clear();
  }

  clear() {
    this.brush.fillStyle = "#000";
    this.brush.fillRect(0, 0, SIDE, SIDE);
    this.canvas.classList.add("blank");
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) / box.width) * SIDE, y: ((event.clientY - box.top) / box.height) * SIDE };
  }

  move({ x, y }) { this.x = x; this.y = y; }

  line(place) {
    const { brush } = this;
    this.canvas.classList.remove("blank");
    brush.strokeStyle = "#fff";
    brush.lineWidth = SIDE / 9;
    brush.lineCap = brush.lineJoin = "round";
    brush.beginPath();
    brush.moveTo(this.x, this.y);
    brush.lineTo(place.x, place.y + 0.01);
    brush.stroke();
    this.move(place);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), PAUSE);
  }

  key(event) {
    const step = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    const within = (value) => Math.min(SIDE - 16, Math.max(16, value));
    if (step) {
      const place = { x: within(this.x + step[0]), y: within(this.y + step[1]) };
      if (this.isDown) this.line(place); else this.move(place);
    } else if (event.key === " ") {
      this.isDown = !this.isDown;
      if (this.isDown) this.line({ x: this.x, y: this.y });
      say(this.isDown ? "The pen draws." : "The pen is lifted.");
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
      say("The canvas is empty.");
    } else return;
    event.preventDefault();
  }

  send() {
    clearTimeout(this.timer);
    this.canvas.toBlob((blob) => this.changed(blob), "image/png");
  }
}

export function Drawing({ changed }) {
  const canvas = useRef(null), pen = useRef(null);
  // Before anything is painted: a key may come with the first frame.
  useLayoutEffect(() => { pen.current = new Pen(canvas.current, changed); }, []);
  const down = (event) => { canvas.current.setPointerCapture(event.pointerId); pen.current.move(pen.current.place(event)); pen.current.isDrawing = true; pen.current.line(pen.current.place(event)); };
  const up = () => { if (pen.current.isDrawing) { pen.current.isDrawing = false; pen.current.send(); } };
  return html`<div class="paper"><canvas ref=${canvas} class="drawing" width=${SIDE} height=${SIDE} tabindex="0" role="application" aria-label="Canvas to draw a digit on" aria-describedby="canvas-help"
      onPointerDown=${down} onPointerMove=${(event) => { if (pen.current.isDrawing) pen.current.line(pen.current.place(event)); }} onPointerUp=${up} onPointerCancel=${up} onKeyDown=${(event) => pen.current.key(event)}></canvas><span class="hint" aria-hidden="true">Draw a digit here</span>
    <button class="clear" onClick=${() => { pen.current.clear(); say("The canvas is empty."); }}>Clear</button></div>
    <p class="quiet" id="canvas-help">By keyboard: arrows move the pen, the space bar lowers and lifts it, Delete clears.</p>`;
}
