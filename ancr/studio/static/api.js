// Requests to the studio. An error of the server is a sentence, and is shown as one.
import { complain } from "/static/parts.js";

// A tab of its own name: what it undoes is its own, and no other tab is shown the same sample.
export const tab = sessionStorage.getItem("tab") || crypto.randomUUID().replaceAll("-", "");
sessionStorage.setItem("tab", tab);

export async function ask(path, body, options = {}) {
  const request = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return send(path, { ...request, ...options });
}

export async function upload(path, blob) {
  return send(path, { method: "POST", headers: { "content-type": blob.type || "application/octet-stream" }, body: blob });
}

async function send(path, request) {
  let response;
  try {
    response = await fetch(path, { ...request, headers: { ...request.headers, "x-ancr-tab": tab } });
  } catch (error) {
    complain("The studio does not answer. Is it still running in the terminal?");
    throw error;
  }
  const content = await response.json().catch(() => null);
  if (!response.ok) {
    const sentence = content?.error || `The studio answered with an error (${response.status}).`;
    complain(sentence);
    throw new Error(sentence);
  }
  complain("");
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
