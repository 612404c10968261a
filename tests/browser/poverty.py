"""Browsers that lack something, made from Chromium: JavaScript that takes it away before the page's own code runs.

The same text runs in the page (Playwright's init script) and before the site's workers (the test host puts it there).
"""

__all__ = ["SCRIPTS", "script"]

SCRIPTS = {
    # JavaScript Promise Integration: Safari before 27, Firefox before 153
    "nojspi": "delete WebAssembly.Suspending; delete WebAssembly.promising; delete WebAssembly.SuspendError;",
    # WebGPU, absent to lost
    "nogpu": "Object.defineProperty(Object.getPrototypeOf(navigator), 'gpu', {value: undefined});",
    "noadapter": "if (navigator.gpu) GPU.prototype.requestAdapter = async () => null;",
    "hangadapter": "if (navigator.gpu) GPU.prototype.requestAdapter = () => new Promise(() => {});",
    "lostdevice": """if (navigator.gpu) {
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await request.apply(this, args);
    device.destroy();
    return device;
  };
}""",
    # Chromium's emulated adapter, taken for a graphics card
    "card": """if (navigator.gpu) {
  const card = {vendor: 'card', architecture: '', description: '', isFallbackAdapter: false};
  for (const [name, value] of Object.entries(card)) {
    Object.defineProperty(GPUAdapterInfo.prototype, name, {get: () => value});
  }
}""",
    # the device is lost in the middle of work: at the fifth submission after the page began to use it
    "loselater": """if (navigator.gpu) {
  const submit = GPUQueue.prototype.submit, request = GPUAdapter.prototype.requestDevice;
  let devices = [], left = 5;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    const device = await request.apply(this, args);
    devices.push(device);
    return device;
  };
  GPUQueue.prototype.submit = function (...args) {
    if (left-- === 0) for (const device of devices) device.destroy();
    return submit.apply(this, args);
  };
}""",
    "nof16": """if (navigator.gpu) {
  const has = GPUSupportedFeatures.prototype.has;
  GPUSupportedFeatures.prototype.has = function (name) { return name !== 'shader-f16' && has.call(this, name); };
}""",
    # old engines
    "nosab": "delete globalThis.SharedArrayBuffer;",
    "nof16array": "delete globalThis.Float16Array;",
    "nooffscreen": "delete globalThis.OffscreenCanvas;",
    "nostreaming": "delete WebAssembly.instantiateStreaming; delete WebAssembly.compileStreaming;"
    "Object.defineProperty(Response.prototype, 'body', {get: () => undefined});",
    "nodecompress": "delete globalThis.DecompressionStream; delete globalThis.CompressionStream;",
    # isolated, but threads fail to start (in workers only: the page needs its worker)
    "nothreads": """if (!globalThis.document) {
  globalThis.Worker = class { constructor() { throw new Error('no workers'); } };
}""",
    # lacks nothing, and tells tests/browser/memory.py of its WebAssembly memories
    "weighed": """{
  const memories = new Set(), { instantiate } = WebAssembly;
  globalThis.memoryBytes = () => [...memories].reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  WebAssembly.instantiate = async (source, imports) => {
    const made = await instantiate(source, imports);
    const values = [(made.instance ?? made).exports, ...Object.values(imports ?? {})].flatMap(Object.values);
    for (const value of values) if (value instanceof WebAssembly.Memory) memories.add(value);
    return made;
  };
}""",
    # private windows and blocked storage
    "nostore": "Object.defineProperty(Object.getPrototypeOf(navigator), 'serviceWorker', {value: undefined});"
    "delete globalThis.caches; delete globalThis.indexedDB;",
    "idberror": """{
  const refuse = () => { throw new DOMException('refused', 'SecurityError'); };
  if (globalThis.indexedDB) IDBFactory.prototype.open = refuse;
  if (globalThis.caches) CacheStorage.prototype.open = async () => refuse();
}""",
    "nolocal": """if (globalThis.document) {
  const refuse = () => { throw new DOMException('refused', 'SecurityError'); };
  Object.defineProperty(globalThis, 'localStorage', {get: refuse});
}""",
    # not a lack: enough cores for threads on any test machine, or too few
    "cores4": "Object.defineProperty(Object.getPrototypeOf(navigator), 'hardwareConcurrency', {value: 4});",
    "cores2": "Object.defineProperty(Object.getPrototypeOf(navigator), 'hardwareConcurrency', {value: 2});",
    # a canvas over the browser's memory limit draws nothing and reads zeros
    "smallcanvas": """{
  const limit = 1 << 20;
  for (const Context of [globalThis.CanvasRenderingContext2D, globalThis.OffscreenCanvasRenderingContext2D]) {
    if (!Context) continue;
    const read = Context.prototype.getImageData;
    Context.prototype.getImageData = function (...args) {
      const data = read.apply(this, args);
      if (this.canvas.width * this.canvas.height > limit) data.data.fill(0);
      return data;
    };
  }
}""",
}


def script(conditions: set[str]) -> str:
    """What takes away everything that the conditions name; unknown names are other conditions' business."""
    return "".join(f"{{{text}}}\n" for name, text in SCRIPTS.items() if name in conditions)
