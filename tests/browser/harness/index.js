/** Passes messages between the test and the worker: `ask` resolves with {value}, {error}, or {late} after a time. */

const worker = new Worker(new URL("assets/web/harness-worker.js" + location.search, import.meta.url), { type: "module" });
/** @type {Map<number, (answer: object) => void>} */
const waiting = new Map();
let count = 0;
worker.onmessage = ({ data }) => waiting.get(data.id)?.(data);
worker.onerror = (event) => waiting.forEach((answer) => answer({ error: event.message ?? "the worker did not start" }));

globalThis.ask = (message, timeoutMs) =>
  new Promise((resolve) => {
    if (timeoutMs) setTimeout(resolve, timeoutMs, { late: true });
    waiting.set(++count, resolve);
    worker.postMessage({ ...message, id: count });
  });
