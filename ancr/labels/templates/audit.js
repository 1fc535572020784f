"use strict";
const all = JSON.parse(document.getElementById("labels").textContent);
const rows = [...document.querySelectorAll("tr[data-row]")];
const relabels = row => row.querySelector("input[value=relabel]").checked;
const decisions = () => JSON.stringify(rows.filter(relabels).map(row => [row.dataset.row, row.querySelector("select").value]));
let exported = "[]";
const told = () => {
  const changed = rows.filter(relabels);
  rows.forEach(row => row.classList.toggle("changed", relabels(row)));
  document.getElementById("count").textContent = changed.length + " relabelled";
};
rows.forEach(row => {
  row.querySelector("select").addEventListener("change", () => {
    row.querySelector("input[value=relabel]").checked = true;
    told();
  });
  row.querySelectorAll("input").forEach(input => input.addEventListener("change", told));
});
const quoted = text => '"' + text.replaceAll('"', '""') + '"';
document.getElementById("export").addEventListener("click", () => {
  const labels = [...all.labels];
  rows.filter(relabels).forEach(row => { labels[Number(row.dataset.row)] = row.querySelector("select").value; });
  const lines = all.names.map((name, i) => quoted(name) + "," + quoted(labels[i]));
  const file = new Blob(["sample,label\r\n" + lines.join("\r\n") + "\r\n"], {type: "text/csv"});
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "labels.csv";
  link.click();
  exported = decisions();
});
// A picture is in this page once, however many labels it speaks against.
const pictures = new Map([...document.querySelectorAll("img[data-picture]")].map(img => [img.dataset.picture, img.src]));
document.querySelectorAll("img[data-of]").forEach(img => { img.src = pictures.get(img.dataset.of); });
// Decisions are in this page alone until they are exported.
window.addEventListener("beforeunload", event => { if (decisions() !== exported) event.preventDefault(); });
told();
