// The views' logic, without a page: node --test tests/studio/logic.test.mjs
import assert from "node:assert/strict";
import test from "node:test";
import { ago, asked, classOfKey, completed, isOlder, keyOfClass, leastWidth, matching, mayReload, merged, moved, percent, picked, ranges, seenRows, short, unbroken } from "../../ancr/studio/static/logic.js";

test("a digit is the class of that name, or of that place", () => {
  assert.equal(classOfKey("3", ["1", "3"]), "3");
  assert.equal(classOfKey("2", ["1", "3"]), undefined);
  assert.equal(classOfKey("2", ["ant", "bee"]), "bee");
  assert.equal(classOfKey("0", Array.from({ length: 12 }, (_, i) => `c${i}`)), "c9");
});

test("a button shows the key that presses it", () => {
  for (const names of [["1", "3"], ["ant", "bee"], Array.from({ length: 12 }, (_, i) => `c${i}`)]) {
    names.forEach((name, place) => {
      const key = keyOfClass(name, place, names);
      if (key !== null) assert.equal(classOfKey(key, names), name);
    });
  }
  assert.equal(keyOfClass("c11", 11, Array.from({ length: 12 }, (_, i) => `c${i}`)), null);
});

test("a text is the class of that name, or a new one; never another that only begins so", () => {
  assert.equal(matching(" be", ["ant", "bee"]), "be");
  assert.equal(matching("Bee ", ["ant", "bee", "beech"]), "bee");
  assert.equal(matching("BEE", ["Bee", "bee"]), "BEE");
  assert.equal(matching("bee", ["bee", "beech"]), "bee");
  assert.equal(matching("  ", ["ant"]), "");
});

test("first letters are completed only if they leave no doubt, and stay as they were typed", () => {
  assert.equal(completed("be", ["ant", "bee"]), "bee");
  assert.equal(completed("Be", ["ant", "bee"]), "Bee");
  assert.equal(completed("b", ["bat", "bee"]), null);
  assert.equal(completed("bee", ["bee"]), null);
  assert.equal(completed("bee", ["bee", "beech"]), null);
  assert.equal(completed(" ", [" x"]), null);
  assert.equal(completed("\u0130", ["i\u0307x"]), null);
});

test("a list does not change under the hand that inspects it", () => {
  assert.equal(mayReload({ inside: true, ticked: 0 }), false);
  assert.equal(mayReload({ inside: false, ticked: 2 }), false);
  assert.equal(mayReload({ inside: false, ticked: 0 }), true);
});

test("news change the state, old news do not, and a new start asks for everything", () => {
  const state = { start: "a", serial: 5, labelled: 1, can_undo: true };
  assert.deepEqual(merged(state, { serial: 6, labelled: 2, touched: [], more: false }), { start: "a", serial: 6, labelled: 2, can_undo: true });
  assert.equal(merged(state, { serial: 4, labelled: 9, touched: [], more: false }), state);
  assert.equal(merged(state, { start: "b", serial: 1, touched: [], more: false }), null);
  assert.equal(isOlder({ start: "a", serial: 4 }, state), true);
  assert.equal(isOlder({ start: "a", serial: 5 }, state), false);
  assert.equal(isOlder({ start: "a", serial: 4 }, { serial: 5 }), true);
  assert.equal(isOlder({ start: "b", serial: 1 }, state), false);  // another start counts anew
  assert.equal(isOlder({ start: "a", serial: 1 }, null), false);
});

test("a grid draws the rows that are seen, of fifty thousand too", () => {
  assert.deepEqual(seenRows({ top: 0, height: 400, rowHeight: 100, rows: 500, margin: 1 }), { first: 0, last: 5 });
  assert.deepEqual(seenRows({ top: 4999900, height: 400, rowHeight: 100, rows: 50000, margin: 1 }), { first: 49998, last: 50000 });
});

test("keys move the cursor of a grid and never out of it", () => {
  const shape = { count: 10, columns: 4, page: 2 };
  assert.deepEqual(["ArrowRight", "ArrowDown", "End", "PageDown", "Home"].map((key) => moved(key, 1, shape)), [2, 5, 9, 9, 0]);
  assert.deepEqual(["ArrowLeft", "ArrowUp", "PageUp"].map((key) => moved(key, 0, shape)), [0, 0, 0]);
  assert.equal(moved("ArrowDown", 7, shape), 7);
  assert.equal(moved("x", 0, shape), undefined);
});

test("numbers are asked for as ranges, and filters that are not set are left out", () => {
  assert.equal(ranges([5, 3, 4, 9]), "3-5,9");
  assert.equal(asked({ text: "a b", status: "", down: false, sort: "name" }), "text=a+b&sort=name");
});

test("of what a person chose, images are sent, or else the one file that can be opened", () => {
  const kinds = { images: [".png", ".jpg"], files: [".csv", ".zip"], most: 1000 };
  const files = (...paths) => paths.map((path) => ({ path, file: { size: 10 } }));
  const sent = (...paths) => picked(files(...paths), kinds).send.map((one) => one.path);
  assert.deepEqual(sent("b/2.PNG", "b/notes.txt", "b/.hidden/x.png", "b/1.jpg", "b/.DS_Store"), ["b/1.jpg", "b/2.PNG"]);
  assert.deepEqual(sent("people.CSV", "people.pdf"), ["people.CSV"]);
  assert.match(picked(files("a.pdf"), kinds).problem, /^a\.pdf is not of a kind that can be opened/);
  assert.match(picked(files("a.csv", "b.csv"), kinds).problem, /^Choose one file: a\.csv, b\.csv/);
  assert.match(picked([{ path: "a.csv", file: { size: 1001 } }], kinds).problem, /at most/);
  assert.equal(picked(files("a.csv"), kinds).problem, "");
});

test("a time is told as a person would", () => {
  const now = Date.parse("2024-05-02T12:00:00Z");
  assert.deepEqual(["2024-05-02T12:00:20Z", "2024-05-02T11:59:00Z", "2024-05-02T09:00:00Z", "2024-04-30T12:00:00Z"].map((time) => ago(time, now)), ["just now", "1 minute ago", "3 hours ago", "2 days ago"]);
});

test("a share that rounds to nothing has no sign, and its number is not parted from the sign of per cent", () => {
  assert.deepEqual([-0.0004, -0.02, 0.984, 0].map((value) => percent(value, 0)), ["0\u00a0%", "-2\u00a0%", "98\u00a0%", "0\u00a0%"]);
  assert.equal(percent(-0.0004), "0.0\u00a0%");
  assert.deepEqual([0.9996, 1, 0.0004].map((value) => percent(value)), [">\u00a099.9\u00a0%", "100.0\u00a0%", "<\u00a00.1\u00a0%"]);
  assert.deepEqual([0.996, 0.004].map((value) => percent(value, 0)), [">\u00a099\u00a0%", "<\u00a01\u00a0%"]);
});

test("a table is at least as wide as its columns and what is between them", () => {
  assert.equal(leastWidth([{ width: "2.5rem" }, { width: "minmax(6rem, 1fr)" }, { width: "minmax(14rem, 3fr)" }]), "26.5rem");
});

test("in a sentence of the server, too, a number keeps its sign of per cent", () => {
  assert.equal(unbroken("From 93.7 to 99 % (95 % interval)."), "From 93.7 to 99\u00a0% (95\u00a0% interval).");
});

test("seconds are told without powers of ten", () => {
  assert.deepEqual([132.4, 16.2, 0.0914, 100, 99.6].map(short), ["132", "16", "0.091", "100", "100"]);
});
