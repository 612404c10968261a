/**
 * What the build asks a page of a finished site: does each example get the same answer before Python is there as after?
 * Calls go to the page's own client, as a visitor's would.
 */

globalThis.proof = {
  /** @returns {Promise<object[]>} for each example its answer in wire form, while Python is held back */
  async early({ app: name }) {
    const site = await (await fetch("site.json")).json();
    const path = Object.keys(site.files).find((file) => file.endsWith("/client.js"));
    const { Client } = await import(new URL(path, location.href));
    const app = site.apps.find((one) => one.name === name);
    const client = new Client({ site, root: "./", app: name });
    const calls = app.examples.map(async ({ function: fn, inputs, buffers }) => {
      const read = async (file) => new Uint8Array(await (await fetch(file)).arrayBuffer());
      return [fn, inputs, await Promise.all(buffers.map(read))];
    });
    const given = await Promise.all(calls);
    const answers = async () => Promise.all(given.map((call) => client.call(...call)));
    const starting = client.start({ backend: "wasm" });
    proof.late = async () => {
      const ready = await starting;
      if ("error" in ready) return ready;
      const late = await answers();
      client.close();
      return late;
    };
    return answers();
  },
};
