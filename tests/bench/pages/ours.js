// What the app's own page does, with a drawing made and sent as soon as there is a client.

const config = JSON.parse(document.getElementById("onnxlet").textContent);
const { Client } = await import(config.client);
const site = await (await fetch(config.site)).json();
const client = new Client({ site, root: config.root, app: config.app });
client.on("offline", ({ ready, reason }) => (globalThis.offline = ready ? "ready" : reason));
const started = client.start();
const drawing = { kind: "drawing", width: 280, height: 280, strokes: [{ size: 22, points: [140, 60, 140, 220] }] };
const answer = await client.call("classify", [drawing], []);
globalThis.answered = performance.now();
globalThis.answer = answer.error?.message ?? "";
globalThis.steps = (await started).steps;
document.title = "answered";
