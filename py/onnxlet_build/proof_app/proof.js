/**
 * What the build calls in its proof page: starts one worker, asks it, and tells when the client would replace it. A page
 * goes on with the next backend then; a proof must not.
 */

const manifest = fetch("site.json").then((response) => response.json());

async function load(name) {
  const { files } = await manifest;
  return import(new URL(Object.keys(files).find((path) => path.endsWith(`/${name}`)), location.href));
}

let client;
let gone;

globalThis.proof = {
  /** What WebGPU is here. */
  async adapter() {
    const { probeGpu } = await load("gpu.js");
    return probeGpu();
  },

  /** @returns {Promise<object>} what the client's start gives, or {error} */
  async begin({ app, backend }) {
    const { Client } = await load("client.js");
    client?.close();
    client = new Client({ site: await manifest, root: "./", app });
    gone = new Promise((resolve) => client.on("gone", ({ reason }) => resolve({ error: { message: reason } })));
    return Promise.race([client.start({ backend }), gone]);
  },

  /** Call a function of proof_app/app.py with a sample and numbers. @returns {Promise<object>} texts, and data in base64 */
  async ask({ fn, sample, numbers }) {
    const feeds = new Uint8Array(await (await fetch(sample)).arrayBuffer());
    const inputs = [{ kind: "file", buffer: 0, name: "feeds.npz" }, ...numbers.map((value) => ({ kind: "number", value }))];
    const answer = await Promise.race([client.call(fn, inputs, [feeds]), gone]);
    if ("error" in answer) return answer;
    const texts = answer.outputs.filter(({ kind }) => kind === "text").map(({ text }) => text);
    return { text: texts[0], data: answer.buffers.length ? base64(answer.buffers[0]) : "" };
  },

  /** Bytes of the WebAssembly memories. */
  async memory() {
    return (await client.status())?.memory_bytes ?? 0;
  },
};

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}
