// Requests to the studio. An error of the server is a sentence, and is shown as one.
import { complain } from "/static/parts.js";

// A tab of its own name: what it undoes is its own, and no other tab is shown the same sample. The name is in the storage
// only while the page is loaded anew: a tab that a person duplicates begins with a copy of the storage.
export const tab = sessionStorage.getItem("tab") || crypto.randomUUID().replaceAll("-", "");
sessionStorage.removeItem("tab");
window.addEventListener("pagehide", () => sessionStorage.setItem("tab", tab));

// The data that this page knows: an action is never done to other data that was opened meanwhile.
let start = null;
export function keepTo(known) { start = known; }

export async function ask(path, body, options = {}) {
  const request = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return send(path, { ...request, ...options });
}

export async function upload(path, blob) {
  return send(path, { method: "POST", headers: { "content-type": blob.type || "application/octet-stream" }, body: blob });
}

const own = () => ({ "x-ancr-tab": tab, ...(start === null ? {} : { "x-ancr-start": start }) });

// Files in one request: a line with their names and sizes, then one after another. progress(done, total) is in bytes.
export function bring(files, progress) {
  const list = JSON.stringify(files.map(({ path, file }) => [path, file.size]));
  const body = new Blob([list, "\n", ...files.map(({ file }) => file)]), request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    const fail = (sentence) => { complain(sentence); reject(new Error(sentence)); };
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onload = () => {
      const content = request.response;
      if (request.status === 200) { complain(""); resolve(content); } else fail(content?.error || `The studio answered with an error (${request.status}).`);
    };
    request.onerror = () => fail("The files could not be sent. Are they still where they were, and does the studio run?");
    request.onabort = () => fail("");
  });
  request.open("POST", "/api/upload");
  request.responseType = "json";
  request.setRequestHeader("content-type", "application/octet-stream");
  for (const [name, value] of Object.entries(own())) request.setRequestHeader(name, value);
  request.send(body);
  return { done, cancel: () => request.abort() };
}

// What the last sentence was about: that a label was refused is not taken away by a picture that has come.
let about = null;
const kindOf = (path) => path.split("?")[0].split("/").slice(0, 3).join("/");

async function send(path, request) {
  let response;
  try {
    response = await fetch(path, { ...request, headers: { ...request.headers, ...own() } });
  } catch (error) {
    about = null;
    complain("The studio does not answer. Is it still running in the terminal?");
    throw error;
  }
  const content = await response.json().catch(() => null);
  if (!response.ok) {
    const sentence = content?.error || `The studio answered with an error (${response.status}).`;
    about = kindOf(path);
    complain(sentence);
    throw new Error(sentence);
  }
  if (about === null || about === kindOf(path)) complain("");
  return content;
}

// Of many requests in a row only the last one matters: one is on its way, and the newest of the others follows it.
export function latest(request) {
  let busy = false, next = null;
  return async function run(...values) {
    next = values;
    if (busy) return;
    busy = true;
    try {
      while (next) {
        const now = next;
        next = null;
        try { await request(...now); } catch { /* shown already */ }
      }
    } finally { busy = false; }
  };
}
