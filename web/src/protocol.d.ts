/**
 * The words that the parts of the page speak: site.json, the wire form of values, the worker's API, the client's events,
 * and the messages between a page and its service worker. docs/architecture.md says what they mean.
 */

export type Backend = "webgpu" | "wasm" | "python";
export type BackendChoice = "auto" | Backend;
/** What a visitor's machine may be, as the build chooses for. */
export type DeviceClass = "wasm" | "webgpu" | "webgpu-f16" | "python";
export type Waits = "jspi" | "atomics" | "async" | "none";

// ---- site.json -------------------------------------------------------------------------------------------------

export interface SiteFile {
  bytes: number;
  sha256: string;
  group: string;
  /** Bytes of the .gz beside it, where the build has written one that is worth fetching. */
  gz?: number;
}

export interface Tensor {
  name: string;
  type: string;
  shape: (number | string | null)[];
}

export interface Variant {
  parts: string[];
  bytes: number;
  sha256: string;
  format: string;
  backends: Backend[];
  /** Its recipe, such as "int8-dynamic". */
  name?: string;
  /** Whether it computes in float16, for which WebGPU needs shader-f16. */
  half?: boolean;
  /** How far it was from the original, on the worst backend that it is offered on; null where nobody looked. */
  error?: Figures | null;
  /** How far each of its nodes is from the original's: a JSON file, fetched when somebody looks. */
  nodes?: string;
}

/** Outputs against the original's. */
export interface Figures {
  samples: number;
  max_abs: number;
  /** Signal to noise; null where all outputs are equal. */
  snr_db: number | null;
  cosine: number;
  /** Share of rows with the same best class; null where there are no classes. */
  top1: number | null;
  /** The app's own, higher is better. */
  metric: number | null;
}

/** What site.json says of the file that runs. */
export interface Loaded {
  name: string;
  format: string;
  bytes: number;
  error: Figures | null;
  /** Whether a browser of the build ran it. */
  proven: boolean;
}

export interface SiteModel {
  name: string;
  variants: Variant[];
  inputs: Tensor[];
  outputs: Tensor[];
  overridable?: Tensor[];
  metadata: Record<string, unknown>;
  /** Bytes of values alive at once in a run, open dimensions taken as 1. */
  activations?: number;
  prefer: Backend[];
  reason?: string;
  /** What a provider, by onnxruntime's name of it, computes wrongly: Python cuts the graph around it. */
  faults?: Record<string, string>;
  /** The variant that each class of devices loads, as an index; a class that is missing has none. */
  choice?: Partial<Record<DeviceClass, number>>;
  proven?: boolean;
  /** Samples, and the original's outputs for them: .npz files, fetched when the visitor wants to verify. */
  references?: { feeds: string; outputs: string }[];
}

export interface FormField {
  name?: string;
  label: string;
  kind: string;
  required?: boolean;
  default?: unknown;
  options: Record<string, any>;
}

export interface FunctionSchema {
  name: string;
  title: string;
  doc: string;
  async: boolean;
  /** Run again at every change of an input; cameras and microphones stay open. */
  live?: boolean;
  direct?: DirectFunction;
  inputs: (FormField & { name: string })[];
  outputs: FormField[];
}

/** A function that the build has folded into graphs, which answer before Python is there. */
export interface DirectFunction {
  /** Files: what makes the model's feeds, and what makes what is shown of its outputs. */
  pre: string;
  post?: string;
  /** Id of the app's model that runs between them, and the outputs of it that are wanted. */
  model: string;
  fetches: string[];
  /** In the form's order. */
  inputs: DirectInput[];
  outputs: DirectOutput[];
}

export interface DirectInput {
  /** Of the graph's input. */
  name: string;
  kind: "pixels" | "number" | "choice";
  /** Of "pixels": the most of them, and the longer side over the shorter; what is beyond is Python's. */
  pixels?: number;
  ratio?: number;
}

export interface DirectOutput {
  kind: "labels" | "json";
  label: string;
  tensors: string[];
}

export interface Example {
  function: string;
  label: string;
  inputs: (WireValue | null)[];
  buffers: string[];
  outputs: WireValue[];
  output_buffers: string[];
}

/** What an app says of one of its models. */
export interface ModelCard {
  name: string;
  source: string;
  licence: string;
  trained_on: string;
  limits: string;
}

export interface SiteApp {
  name: string;
  title: string;
  description: string;
  page: string;
  /** Whether any of its functions is. */
  live?: boolean;
  cards?: ModelCard[];
  module: string;
  object: string;
  files: Record<string, string>;
  models: Record<string, string>;
  /** Whether it makes a Tokenizer. */
  tokenizers?: boolean;
  /** Whether it imports more of Python's library than every start has. */
  whole_library?: boolean;
  functions: FunctionSchema[];
  examples: Example[];
  packages: string[];
}

export interface LockPackage {
  name: string;
  version: string;
  file_name: string;
  sha256: string;
  install_dir: string;
  package_type: string;
  imports: string[];
  depends: string[];
  [more: string]: unknown;
}

export interface OrtFiles {
  entry: string;
  mjs: string;
  wasm: string;
}

export interface Site {
  format: number;
  build: { id: string; onnxlet: string; pyodide: string; onnxruntime_web: string; time: string };
  files: Record<string, SiteFile>;
  python: {
    folder: string;
    lock: { info: Record<string, string>; packages: Record<string, LockPackage> };
    packages: string[];
    /** Extension modules that `import numpy` loads: path in site-packages -> file. */
    extensions?: Record<string, string>;
    /** A pack of what no start needs; absent where the build could not tell. */
    rest?: string;
    /** Python's memory after a start, and the sha256 of what it was made of. */
    snapshot?: { file: string; of: string };
  };
  ort: Partial<Record<"wasm" | "jspi" | "webgpu", OrtFiles>>;
  models: Record<string, SiteModel>;
  apps: SiteApp[];
  /** Processors to reckon with, whatever the device says: a build proves threads on a small machine too. */
  cores?: number;
  /** Bytes that the models of a worker may take together; without it the device decides. */
  memory_budget?: number;
  /** What stands behind the tabs of a page: the paths of the editor's module and of Netron's page. */
  panels?: { editor?: string; netron?: string };
}

// ---- values and answers ----------------------------------------------------------------------------------------

/** A value in wire form: JSON whose `buffer` numbers index a list of byte buffers. */
export type WireValue = { kind: string; buffer?: number; [more: string]: any };

export interface AppError {
  /** The Python class (InvalidInput, ProviderError, ...) or the page's own (AssetError, StartError, Stopped). */
  type: string;
  /** One sentence: where, what was expected, what came, what to do. */
  message: string;
  traceback?: string;
  hint?: string;
}

export interface Timing {
  /** The whole call in Python, ms. */
  total_ms: number;
  /** Of it, inside ONNX Runtime, ms. */
  run_ms: number;
  runs: number;
}

export interface Failure {
  error: AppError;
  /** What broke for good in this worker: the client starts another one without it. */
  broken?: "webgpu" | "threads";
}

export interface Answer {
  outputs: WireValue[];
  buffers: Uint8Array[];
  timing: Timing;
  /** As in Failure: the answer is right, made by what took over. */
  broken?: "webgpu";
  /** Made before Python was there. */
  direct?: boolean;
}

export type CallResult = Answer | Failure;

/** What a generator has yielded so far; the next one, or the answer, takes its place. */
export interface Interim {
  outputs: WireValue[];
  buffers: Uint8Array[];
}

// ---- the worker's API (through Comlink) ------------------------------------------------------------------------

export interface StartConfig {
  /** Absolute URL of the site's root, with its trailing slash. */
  root: string;
  site: Site;
  app: string;
  backend: BackendChoice;
  /** False asks for one thread even where the page is cross-origin isolated. */
  isolated: boolean;
  /** Whether a service worker will want the files that the start downloads. */
  keeps: boolean;
  /** Backends that answered wrong on this device. */
  demoted: Backend[];
  /** Kinds of file that the host was seen to send without compression (transport.js). */
  plain: string[];
}

export interface Progress {
  stage: "download" | "python" | "packages" | "app" | "model" | "ready";
  /** Bytes, over every file that the start needs. */
  loaded: number;
  total: number;
  detail?: string;
}

export interface Status {
  backend: Backend;
  /** The name that `session.get_providers()[0]` gives, such as WebGpuExecutionProvider. */
  provider: string;
  threads: number;
  /** A sentence: why this backend and this number of threads. */
  reason: string;
  waits: Waits;
  /** Python's version; empty before it runs. */
  python: string;
  /** Of the WebAssembly heaps of Python and ONNX Runtime that can be seen. */
  memory_bytes: number;
  placement?: unknown;
  /** The file of the app's first model; empty where the app brings its own. */
  variant: Partial<Loaded>;
}

/** Whether Python began where a snapshot of its memory ended; if not, why. */
export interface PythonStart {
  snapshot: boolean;
  why: string;
}

export type Ready = Status & {
  load_ms: number;
  python_start: PythonStart;
  /** When each stage of the worker's start ended, in ms since 1970 (marks.js): for `make bench` and for bug reports. */
  steps: Record<string, number>;
  /** The files that the start used, as site.json names them: what has to be there offline. */
  files: string[];
};

/** What an edited app says of itself: App.schema(). */
export interface Edited {
  schema: { title: string; description: string; live: boolean; functions: FunctionSchema[] };
}

// ---- inside the models (inside.py) -----------------------------------------------------------------------------

export interface Placement {
  /** The session's number, for the other questions. */
  session: number;
  model: string;
  provider: string;
  /** Why the model does not run in one part, or not where it was wanted; "" where it does. */
  reason: string;
  /** In the order in which they run; nodes are [name, operator]. */
  parts: { provider: string; nodes: [string, string][] }[];
  /** [value, bytes], the largest first. */
  crossing: [string, number][];
  /** Whether it ran, so that its last input can be used again. */
  ran: boolean;
  variant: Partial<Loaded>;
  /** How many samples there are to verify it with. */
  references: number;
}

export interface NodeTime {
  node: string;
  operator: string;
  provider: string;
  ms: number;
  runs: number;
  /** What was measured: "queued" is only handing the work to the GPU. */
  clock: "cpu" | "gpu" | "queued";
}

export interface NodeTimes {
  total_ms: number;
  other_ms: number;
  /** Of all nodes; `nodes` are the slowest. */
  count: number;
  nodes: NodeTime[];
}

export interface NodeDifference {
  node: string;
  operator: string;
  output: string;
  shape: number[];
  equal: boolean;
  /** null: shapes differ, or NaN on one side; infinite where `equal`. */
  snr_db: number | null;
  max_abs: number | null;
  note: string;
}

export interface ModelComparison {
  a: string;
  b: string;
  tensors: number;
  bad: number;
  tolerance_db: number;
  missing: number;
  first: NodeDifference | null;
  worst: NodeDifference[];
}

export interface Verification {
  found: Figures;
  /** What the build saw; null where it had no browser. */
  expected: Figures | null;
  /** What the session was on. */
  provider: string;
  /** Why its answers cannot be trusted on this device; "" where they can. */
  wrong: string;
}

/** A value of the graph: "" and null where nobody knows. */
export interface ModelValue {
  name: string;
  type: string;
  shape: (number | string | null)[] | null;
}

export interface ModelNode {
  node: string;
  operator: string;
  domain: string;
  provider: string;
  inputs: string[];
  outputs: ModelValue[];
}

export interface ModelNodes {
  nodes: ModelNode[];
  inputs: ModelValue[];
  ran: boolean;
}

export interface Measurement {
  total_ms: number;
  other_ms: number;
  /** By node. */
  times: Record<string, { ms: number; clock: NodeTime["clock"] }>;
  /** Nodes that the runtime made itself. */
  extra: { node: string; operator: string; ms: number }[];
  /** By name. */
  values: Record<string, { type: string; shape: number[] | null }>;
}

/** value_summary.py */
export interface ValueSummary {
  type: string;
  shape: number[] | null;
  size: number | null;
  few: string;
  min?: number | string | null;
  max?: number | string | null;
  mean?: number | null;
  std?: number | null;
  nan?: number;
  infinite?: number;
  zeros?: number;
  histogram?: { low: number; high: number; counts: number[] } | null;
  picture?: { width: number; height: number; tiles: number; of: number; pixels: string } | null;
}

export interface InsideAnswers {
  nodes: ModelNodes;
  measure: Measurement;
  value: ValueSummary;
  verify: Verification;
  placements: Placement[];
  times: NodeTimes;
  compare: ModelComparison;
}

export type InsideQuestion = keyof InsideAnswers;

export interface WorkerApi {
  start(config: StartConfig, onProgress: (p: Progress) => void): Promise<Ready | Failure>;
  /** Before the answer come messages {interim: Interim} of the worker's own, in order: one for each value of a generator. */
  call(fn: string, inputs: (WireValue | null)[], buffers: Uint8Array[]): Promise<CallResult>;
  /** An answer before Python is there; null where the call is Python's. It may be asked as soon as start() was called. */
  direct(fn: string, inputs: (WireValue | null)[], buffers: Uint8Array[]): Promise<Answer | null>;
  /** Ends a generator at its next yield; its call answers Stopped. */
  stop(): void;
  inside<Q extends InsideQuestion>(what: Q, session?: number, name?: string): Promise<InsideAnswers[Q] | Failure>;
  /** Sources by path; the files that are missing get their original text. */
  edit(sources: Record<string, string>): Promise<Edited | Failure>;
  prompt(line: string, write: (kind: "out" | "err" | "value", text: string) => void): Promise<{ more: boolean } | Failure>;
  status(): Promise<Status>;
  /** Write what was downloaded to where the service worker looks, and what is downloaded later at once. */
  kept(): Promise<void>;
  /** Forget the app; others in the same worker go on. */
  leave(): Promise<void>;
  /** Give another app of the site a seat of its own in the same worker; it is asked through the port, by this same API. */
  join(port: MessagePort): void;
}

// ---- what the page begins before there is anybody to ask for it (early.js, handover.js, handed.js) ---------------

/** Paths as site.json names them. */
export interface EarlyPart {
  /** Files to compile. */
  wasm: string[];
  files: string[];
  /** Modules of the worker's. */
  imports: string[];
}

export interface EarlyConfig {
  worker: string;
  /** Whether a .gz lies beside each file of WebAssembly. */
  gz: boolean;
  /** What every start of Python needs; of the others, one. */
  python: EarlyPart;
  plain: EarlyPart;
  snapshot?: EarlyPart;
  /** ONNX Runtime Web and the models, where the build knows which ones most visitors need. */
  ort?: EarlyPart;
}

export interface Begun {
  response: Promise<Response> | null;
  compiles: boolean;
  /** What comes of compiling it; null where bytes have to be looked at first. */
  module: Promise<WebAssembly.Module | null> | null;
}

export interface Early {
  /** Null once somebody has it. */
  worker: Worker | null;
  site: Promise<Response>;
  files: Map<string, Begun>;
  failed: boolean;
}

/** A file that was checked. */
export type Handed = { module: WebAssembly.Module } | { bytes: Uint8Array<ArrayBuffer> };

/** Messages to the worker that are not Comlink's. */
export interface ToWorker {
  early?:
    | { expect: string[]; imports: string[] }
    | { path: string; received: number }
    | { path: string; file: Handed | null };
}

declare global {
  var onnxletEarly: Early | undefined;
}

// ---- the client's events ---------------------------------------------------------------------------------------

export interface ClientEvents {
  progress: Progress;
  /** Every change of state. `ready` stands with "ready" and "running", `error` with "failed". */
  status: { state: "starting" | "ready" | "running" | "failed" | "stopped"; ready?: Ready; error?: AppError };
  /** A worker that took another's place imported the edited app again, or could not. */
  edited: Edited | Failure;
  /** A worker ended that nobody asked to end; `restarting` says on which backend it starts again. */
  gone: { reason: string; restarting?: BackendChoice };
  /** Another build of the site is in place: a reload shows it. */
  update: { build: string };
  /** Whether this app works without a network from now on; if not, why. `bytes` are kept of this build. */
  offline: { ready: boolean; reason: string; bytes: number };
  /** "damaged": files that were kept were not what they had been, and have been fetched anew; "gone": the host has no such site. */
  storage: { what: "damaged" | "gone" };
}

// ---- page <-> service worker -----------------------------------------------------------------------------------

/** Each is answered through a port that comes with it. */
export type ToServiceWorker =
  /** Keep what an app used. Answer: Visited. */
  | { type: "visit"; build: string; app: string; files: string[] }
  /** Serve pages with isolation headers, or without. Answer: true. */
  | { type: "isolate"; on: boolean }
  /** Drop what is kept and damaged. Answer: how many files. */
  | { type: "check" }
  /** Drop everything that is kept of this site. Answer: whether that was possible. */
  | { type: "forget" };

export type Visited =
  /** Of the page's build. */
  | ({ build: string } & ClientEvents["offline"])
  /** Of another; newer: than the page's. */
  | { build: string; newer: boolean };

/** What every page of the site hears; `root` is the site's: another one may lie in a folder of it. */
export type FromServiceWorker = { root: string } & ({ type: "build"; build: string } | { type: "storage"; what: "damaged" | "gone" });
