/** How somebody's strict TypeScript uses onnxlet.js: `npm run check` compiles it, and nothing runs it. */

import { load } from "./onnxlet.js";
import type { AppError, Label, Picture, PictureInput, Tensor } from "./onnxlet.js";

export async function byHand(file: File): Promise<string> {
  const app = await load("https://example.org/demo/digits.html", { backend: "wasm", onProgress: ({ loaded, total }) => loaded / total });
  const labels: Label[] = await app.classify(file);
  const named: Label[] = await app.classify({ drawing: file });
  const stop = app.on("status", ({ state }) => state === "ready");
  stop();
  const status = await app.status();
  app.close();
  return `${labels[0]?.label ?? ""} ${named.length} ${status?.backend ?? ""} ${app.schema.title} ${app.functions.join()}`;
}

interface Vision {
  classify(photo: PictureInput, top?: number): Promise<Label[]>;
  mask(options: { photo: PictureInput }): Promise<Picture>;
  embed(text: string): Promise<[Tensor, string]>;
}

export async function typed(canvas: HTMLCanvasElement, signal: AbortSignal): Promise<Blob> {
  const app = await load<Vision>(new URL("https://example.org/demo/"), { app: "vision" });
  const [best] = await app.classify(canvas, 3);
  const [tensor, text] = await app.embed(best?.label ?? "");
  // @ts-expect-error a picture is wanted
  void app.classify(3);
  // @ts-expect-error there is no such function
  void app.clasify(canvas);
  try {
    await app.call("classify", [canvas], { signal });
  } catch (error) {
    const { name, cause } = error as AppError;
    throw new Error(`${name} ${cause ?? ""} ${tensor.shape.length} ${text}`);
  }
  for await (const part of app.stream("embed", ["words"])) void part;
  const picture = await app.mask({ photo: canvas });
  return picture.toBlob("image/webp", 0.8);
}

export function element(): void {
  const embedded = document.querySelector("onnxlet-app");
  embedded?.addEventListener("ready", () => void embedded.app?.schema.functions[0]?.inputs[0]?.label);
}

// @ts-expect-error a backend that there is not
void load("digits", { backend: "cuda" });
