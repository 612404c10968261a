/** Apps of a site that onnxlet built, in any page: docs/embedding.md. */

export type Backend = "webgpu" | "wasm" | "python";

export interface LoadOptions {
  /** Which app of a site that has several. */
  app?: string;
  /** "auto", the default, takes what the build found to be right and fast on such a device. */
  backend?: "auto" | Backend;
  /** Bytes, over every file that the start needs. */
  onProgress?: (progress: Progress) => void;
}

export interface Progress {
  stage: "download" | "python" | "packages" | "app" | "model" | "ready";
  loaded: number;
  total: number;
  detail?: string;
}

export interface Status {
  backend: Backend;
  /** As onnxruntime calls it, such as "WebGpuExecutionProvider". */
  provider: string;
  threads: number;
  /** A sentence: why this backend and this number of threads. */
  reason: string;
  /** Python's version. */
  python: string;
  /** Of the WebAssembly heaps; apps of one site share them. */
  memory_bytes: number;
}

// ---- what a function takes -------------------------------------------------------------------------------------

export type Bytes = ArrayBuffer | ArrayBufferView;

/** An encoded file, or what has pixels. */
export type PictureInput =
  | Blob
  | Bytes
  | ImageData
  | Picture
  | ImageBitmap
  | HTMLImageElement
  | HTMLCanvasElement
  | HTMLVideoElement
  | OffscreenCanvas
  | VideoFrame;

/** An encoded file, or samples in -1 .. 1: one channel, or an array of channels. */
export type SoundInput =
  | Blob
  | Bytes
  | AudioBuffer
  | { samples: ArrayLike<number> | ArrayLike<number>[]; sampleRate: number };

/** CSV as text or file, columns and rows, or an object for each row. */
export type TableInput = string | Blob | Bytes | { columns: unknown[]; rows: unknown[][] } | Record<string, unknown>[];

/** Values in C order, or an .npy file. A typed array alone has one dimension. */
export type TensorInput = Blob | ArrayBuffer | ArrayBufferView | { data: ArrayBufferView; shape: number[]; dtype?: string };

/** undefined and null leave an input out. */
export type Input =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | PictureInput
  | SoundInput
  | TableInput
  | TensorInput
  | Record<string, unknown>
  | unknown[];

// ---- what it returns -------------------------------------------------------------------------------------------

export interface Label {
  label: string;
  score: number;
}

export interface Box extends Label {
  /** x0, y0, x1, y1 in pixels of the picture. */
  box: [number, number, number, number];
}

/** A passage of a text: start and end count Unicode characters, as Python does. */
export interface Span extends Label {
  start: number;
  end: number;
  word: string;
}

/** A text with passages that are marked in it. */
export interface Spans {
  text: string;
  items: Span[];
}

/** A picture (RGBA, 4 bytes a pixel) or a mask (1 byte a pixel), rows from the top. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
  toImageData(): ImageData;
  toBlob(type?: string, quality?: number): Promise<Blob>;
}

export interface Sound {
  sampleRate: number;
  /** The first channel. */
  samples: Float32Array;
  channels: Float32Array[];
}

export interface Table {
  columns: string[];
  /** All cells are text. */
  rows: string[][];
}

export interface Tensor {
  dtype: string;
  shape: number[];
  /** In C order; float16 as Float16Array, or as bits in a Uint16Array where the browser has none. */
  data: ArrayLike<number> | ArrayLike<bigint>;
}

/** Text is a string. What is shown as JSON is its value, or its text where JavaScript's numbers cannot hold it. */
export type Result = Label[] | Box[] | Spans | Picture | Sound | Table | Tensor | string | number | boolean | null | unknown[] | object;

// ---- an app ----------------------------------------------------------------------------------------------------

export interface Field {
  name?: string;
  label: string;
  /** image, drawing, text, number, toggle, choice, file, audio, table or tensor; of outputs also labels, boxes, mask, spans, json. */
  kind: string;
  required?: boolean;
  default?: unknown;
  options: Record<string, unknown>;
}

export interface FunctionSchema {
  name: string;
  title: string;
  doc: string;
  inputs: (Field & { name: string })[];
  outputs: Field[];
}

export interface Schema {
  title: string;
  description: string;
  live: boolean;
  functions: FunctionSchema[];
}

export interface Events {
  progress: Progress;
  status: { state: "starting" | "ready" | "running" | "failed" | "stopped" };
  /** The worker ended and another one starts: the GPU failed, for example. */
  gone: { reason: string };
}

export interface CallOptions {
  /** Rejects the call; a run that nobody else waits for is stopped. */
  signal?: AbortSignal;
}

export interface EmbeddedApp {
  readonly schema: Schema;
  /** Names of the functions; each is a method too, unless the app object has something else of that name. */
  readonly functions: string[];
  /** Run a function: values in the order of its parameters, or by their names. Several results come as an array. */
  call(name: string, values?: unknown[] | Record<string, unknown>, options?: CallOptions): Promise<any>;
  /** Take each value that a generator in Python yields; of any other function, its result. Who stops taking stops the run. */
  stream(name: string, values?: unknown[] | Record<string, unknown>, options?: CallOptions): AsyncGenerator<any>;
  status(): Promise<Status | null>;
  on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): () => void;
  /** The last one that uses the app ends it. */
  close(): void;
}

/** Of what is thrown: `name` is Python's class, or AssetError, StartError, Stopped ...; `cause` is Python's traceback. */
export interface AppError extends Error {
  name: string;
  cause?: string;
}

/**
 * Start an app. Each of its functions is a method, which takes values in the order of the parameters, or one object of values
 * by their names. `F` may say what they take and give:
 * `load<{ classify(photo: PictureInput): Promise<Label[]> }>("digits")`.
 *
 * @param address of a site's root or of an app's page, or the name of an app in the site of onnxlet.js
 */
export function load<F = Record<string, any>>(address?: string | URL, options?: LoadOptions): Promise<EmbeddedApp & F>;

/** `<onnxlet-app src="digits.html">`: the app's form and results. */
export interface OnnxletAppElement extends HTMLElement {
  /** Once "ready" was told; null before. */
  readonly app: (EmbeddedApp & Record<string, any>) | null;
}

declare global {
  interface HTMLElementTagNameMap {
    "onnxlet-app": OnnxletAppElement;
  }
}
