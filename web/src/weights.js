/**
 * A model's file as ONNX Runtime Web takes it with one copy of the weights: the graph, and beside it the weights in place.
 *
 * A file that is handed over whole is copied into ONNX Runtime's memory, parsed there into a second copy, and made into
 * tensors, the third; and that memory never shrinks. Weights that the graph names as external data go from where they lie
 * here straight into the tensors. So large initializers are rewritten as external data of the very pieces of the file that
 * hold them: nothing is copied here but a tensor that stands across the cut between two pieces.
 *
 * Fields: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto; encoding: https://protobuf.dev/programming-guides/encoding/
 */

/** ModelProto.graph, GraphProto.initializer, and of TensorProto raw_data, external_data, data_location. */
const GRAPH = 7;
const INITIALIZER = 5;
const RAW_DATA = 9;
const EXTERNAL_DATA = 13;
const DATA_LOCATION = 14;
const EXTERNAL = 1;

const VARINT = 0;
const FIXED64 = 1;
const SPAN = 2;
const FIXED32 = 5;

/** Shorter weights stay in the graph: ONNX Runtime reads shapes and axes among them before it reads other files. */
const LARGE_BYTES = 16 << 10;

/** @typedef {{path: string, data: Uint8Array}} WeightFile as SessionOptions.externalData takes it */
/** @typedef {{number: number, wire: number, start: number, from: number, to: number}} Field start: of its tag; from, to: of its content */

/**
 * @param {Uint8Array[]} pieces of an ONNX file, in order
 * @returns {{graph: Uint8Array, files: WeightFile[]}} files refer to the pieces' memory
 */
export function apart(pieces) {
  const file = new Pieces(pieces);
  const files = new WeightFiles(file);
  try {
    const model = rewritten(file, 0, file.length, GRAPH, (graph) =>
      rewritten(file, graph.from, graph.to, INITIALIZER, (tensor) => files.outside(tensor)),
    );
    if (files.all.length) return { graph: joined(model), files: files.all };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // no ONNX file: for ONNX Runtime to say
  }
  return { graph: file.bytes(0, file.length), files: [] };
}

/**
 * One array of several; itself where it is one.
 * @param {Uint8Array[]} pieces
 */
export function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** A file that lies in several arrays. */
class Pieces {
  #pieces;
  /** Where each begins. */
  #starts;
  /** The one that was asked for last: reading goes on in it. */
  #last = 0;

  /** @param {Uint8Array[]} pieces */
  constructor(pieces) {
    this.#pieces = pieces.filter(({ length }) => length);
    this.length = 0;
    this.#starts = this.#pieces.map(({ length }) => {
      const start = this.length;
      this.length += length;
      return start;
    });
  }

  /** The piece that a byte lies in, and where that begins. @param {number} at */
  at(at) {
    const starts = this.#starts;
    let i = this.#last;
    while (starts[i] > at) i--;
    while (starts[i + 1] <= at) i++;
    this.#last = i;
    return { number: i, piece: this.#pieces[i], start: starts[i] };
  }

  /** A view of it where it lies in one piece, else a copy. @param {number} from @param {number} to */
  bytes(from, to) {
    /** @type {Uint8Array[]} */
    const parts = [];
    while (from < to) {
      const { piece, start } = this.at(from);
      const part = piece.subarray(from - start, to - start);
      if (!part.length) throw new RangeError("beyond the end");
      parts.push(part);
      from += part.length;
    }
    return joined(parts);
  }

  /** @param {number} from @param {number} to @returns {Generator<Field>} the fields of a message */
  *fields(from, to) {
    while (from < to) {
      const start = from;
      const tag = this.#varint(from);
      const wire = tag.value % 8;
      from = tag.end;
      if (wire === VARINT) from = this.#varint(from).end;
      else if (wire === FIXED32) from += 4;
      else if (wire === FIXED64) from += 8;
      else if (wire === SPAN) {
        const { value, end } = this.#varint(from);
        yield { number: Math.floor(tag.value / 8), wire, start, from: end, to: (from = end + value) };
        continue;
      } else throw new RangeError(`wire type ${wire}`);
      yield { number: Math.floor(tag.value / 8), wire, start, from: tag.end, to: from };
    }
    if (from > to) throw new RangeError("a field goes beyond its message");
  }

  /** @param {number} at @returns {{value: number, end: number}} value: exact below 2^53 */
  #varint(at) {
    let value = 0;
    for (let k = 0, scale = 1; k < 10; k++, scale *= 128) {
      const { piece, start } = this.at(at + k);
      const byte = piece?.[at + k - start];
      if (byte === undefined) throw new RangeError("ends inside a number");
      value += (byte & 127) * scale;
      if (byte < 128) return { value, end: at + k + 1 };
    }
    throw new RangeError("a number of more than 64 bits");
  }
}

/** What stays outside of a graph. */
class WeightFiles {
  #file;
  /** @type {Map<string, WeightFile>} */
  #files = new Map();

  /** @param {Pieces} file */
  constructor(file) {
    this.#file = file;
  }

  get all() {
    return [...this.#files.values()];
  }

  /**
   * A tensor without its elements, if they are worth it.
   * @param {Field} tensor
   * @returns {Uint8Array[] | null} the message; null leaves it as it is
   */
  outside(tensor) {
    if (tensor.to - tensor.from < LARGE_BYTES) return null;
    const fields = [...this.#file.fields(tensor.from, tensor.to)];
    const data = fields.filter(({ number, wire }) => number === RAW_DATA && wire === SPAN);
    if (data.length !== 1 || data[0].to - data[0].from < LARGE_BYTES) return null;
    if (fields.some(({ number }) => number === EXTERNAL_DATA || number === DATA_LOCATION)) return null;
    const [{ from, to }] = data;
    const kept = fields.filter((field) => field !== data[0]).map((field) => this.#file.bytes(field.start, field.to));
    const { path, offset } = this.#place(from, to);
    const entries = Object.entries({ location: path, offset, length: to - from });
    const where = entries.flatMap(([key, value]) => message(EXTERNAL_DATA, [text(1, key), text(2, String(value))].flat()));
    return [...kept, ...where, varints(DATA_LOCATION * 8 + VARINT, EXTERNAL)];
  }

  /** @param {number} from @param {number} to */
  #place(from, to) {
    const { number, piece, start } = this.#file.at(from);
    const whole = to <= start + piece.length;
    const path = whole ? `weights${number}` : `weights${number} from ${from - start}`;
    if (!this.#files.has(path)) this.#files.set(path, { path, data: whole ? piece : this.#file.bytes(from, to) });
    return { path, offset: whole ? from - start : 0 };
  }
}

/**
 * A message with some of its fields made anew.
 * @param {Pieces} file
 * @param {number} from
 * @param {number} to
 * @param {number} number of the fields, which hold messages
 * @param {(field: Field) => Uint8Array[] | null} change null leaves it as it is
 * @returns {Uint8Array[]}
 */
function rewritten(file, from, to, number, change) {
  /** @type {Uint8Array[]} */
  const parts = [];
  let done = from;
  for (const field of file.fields(from, to)) {
    const changed = field.number === number && field.wire === SPAN ? change(field) : null;
    if (!changed) continue;
    if (done < field.start) parts.push(file.bytes(done, field.start));
    parts.push(...message(number, changed));
    done = field.to;
  }
  if (done < to) parts.push(file.bytes(done, to));
  return parts;
}

/** @param {number} number @param {Uint8Array[]} content */
function message(number, content) {
  const size = content.reduce((sum, { length }) => sum + length, 0);
  return [varints(number * 8 + SPAN, size), ...content];
}

/** @param {number} number @param {string} value */
function text(number, value) {
  return message(number, [new TextEncoder().encode(value)]);
}

/** @param {...number} values */
function varints(...values) {
  /** @type {number[]} */
  const out = [];
  for (let value of values) {
    for (; value >= 128; value = Math.floor(value / 128)) out.push((value % 128) + 128);
    out.push(value);
  }
  return Uint8Array.from(out);
}
