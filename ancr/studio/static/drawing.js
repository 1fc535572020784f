// A canvas to draw on with a pointer, or with the arrow keys and the space bar.
import { el, say } from "/static/dom.js";

const SIDE = 256, STEP = 8;

export class Drawing {
  constructor(changed) {
    this.changed = changed;
    this.canvas = el("canvas", { class: "drawing", tabindex: "0", role: "application", "aria-label": "Canvas to draw a digit on", "aria-describedby": "canvas-help" });
    this.canvas.width = this.canvas.height = SIDE;
    this.context = this.canvas.getContext("2d");
    this.pen = { x: SIDE / 2, y: SIDE / 4, down: false };
    this.clear();
    const clear = el("button", { text: "Clear", onclick: () => { this.clear(); say("The canvas is empty."); } });
    this.element = el("div", {}, this.canvas, el("p", { class: "quiet", id: "canvas-help", text: "Draw with the mouse or a finger. By keyboard: arrows move the pen, the space bar lifts and lowers it, Delete clears." }), el("div", { class: "row" }, clear));
    this.canvas.addEventListener("pointerdown", (event) => { this.canvas.setPointerCapture(event.pointerId); this.move(this.place(event)); this.drawing = true; this.line(this.pen); });
    this.canvas.addEventListener("pointermove", (event) => { if (this.drawing) this.line(this.place(event)); });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { if (this.drawing) { this.drawing = false; this.send(); } });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  clear() {
    this.context.fillStyle = "#000";
    this.context.fillRect(0, 0, SIDE, SIDE);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) / box.width) * SIDE, y: ((event.clientY - box.top) / box.height) * SIDE };
  }

  move(place) { this.pen.x = place.x; this.pen.y = place.y; }

  line(place) {
    const brush = this.context;
    brush.strokeStyle = "#fff";
    brush.lineWidth = SIDE / 9;
    brush.lineCap = brush.lineJoin = "round";
    brush.beginPath();
    brush.moveTo(this.pen.x, this.pen.y);
    brush.lineTo(place.x, place.y + 0.01);
    brush.stroke();
    this.move(place);
    this.sendSoon();
  }

  key(event) {
    const step = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    if (step) {
      const place = { x: Math.min(SIDE - 16, Math.max(16, this.pen.x + step[0])), y: Math.min(SIDE - 16, Math.max(16, this.pen.y + step[1])) };
      if (this.pen.down) this.line(place); else this.move(place);
    } else if (event.key === " ") {
      this.pen.down = !this.pen.down;
      if (this.pen.down) this.line({ x: this.pen.x, y: this.pen.y });
      say(this.pen.down ? "The pen draws." : "The pen is lifted.");
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
      say("The canvas is empty.");
    } else return;
    event.preventDefault();
  }

  sendSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), 120);
  }

  send() {
    clearTimeout(this.timer);
    this.canvas.toBlob((blob) => this.changed(blob), "image/png");
  }
}
