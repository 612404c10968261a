/**
 * Workers, as clients see them: a seat in one. A client of its own has a worker for itself; clients that share sit in one,
 * where their apps have one Python and one ONNX Runtime.
 *
 * Ending a shared worker takes it from everybody: the others are told that they `lost` it, and start again in a new one.
 */

import * as Comlink from "./vendor/comlink.js";
import { describeFailure } from "./download.js";
import { earlyWorker } from "./handover.js";
import { here } from "./here.js";

/** @import { AppError, Failure, Interim, WorkerApi } from "./protocol.js" */

/** @typedef {Failure & {lost?: boolean}} Ended lost: it was not this seat that ended the worker */

const SCRIPT = here("worker.js");

/** Whether the page is another origin's than the site: then the worker is made from here, and threads are out of reach. */
export const foreign = SCRIPT.origin !== location.origin;

/** The worker that clients share. @type {Shared | null} */
let shared = null;

/** One client's end of a worker. */
export class Seat {
  #worker;
  /** @type {(ended: Ended) => void} */
  #end = () => {};
  /** Who waits for an answer. @type {Set<(ended: Ended) => void>} */
  #asking = new Set();
  /** @type {Ended | null} */
  #over = null;
  /** Hears each value that a generator yields. @type {(interim: Interim) => void} */
  onInterim = () => {};
  /** Resolves once nothing can be asked any more. @type {Promise<Ended>} */
  ended = new Promise((resolve) => (this.#end = resolve));

  /**
   * @param {Shared} worker
   * @param {Comlink.Endpoint} endpoint
   */
  constructor(worker, endpoint) {
    this.#worker = worker;
    endpoint.addEventListener("message", (event) => {
      const { interim } = /** @type {MessageEvent} */ (event).data;
      if (interim) this.onInterim(interim);
    });
    /** @type {Comlink.Remote<WorkerApi>} */
    this.api = Comlink.wrap(endpoint);
  }

  /** End the worker, whatever it does. @param {AppError} why what calls that still wait are told */
  end(why) {
    this.#worker.end(this, { error: why });
  }

  /** Leave it to the others; the last one ends it. @param {AppError} why */
  leave(why) {
    this.#worker.leave(this, { error: why });
  }

  /**
   * An answer of the worker's, or its end. Promise.race would leave every answer with `ended` for as long as the worker lives.
   * @template T
   * @param {Promise<T>} answer
   * @returns {Promise<T | Ended>}
   */
  unlessEnded(answer) {
    return new Promise((resolve, reject) => {
      if (this.#over) return resolve(this.#over);
      this.#asking.add(resolve);
      answer.then(resolve, reject).finally(() => this.#asking.delete(resolve));
    });
  }

  /** It is over. @param {Ended} ended */
  tell(ended) {
    this.#over = ended;
    this.#end(ended);
    for (const resolve of this.#asking) resolve(ended);
  }
}

/** A worker and who sits in it. */
class Shared {
  #worker = make();
  /** @type {Set<Seat>} */
  #seats = new Set();
  /** @type {Seat} */
  first = new Seat(this, this.#worker);

  constructor() {
    this.#seats.add(this.first);
    this.#worker.onerror = async (event) => {
      event.preventDefault();
      const why = event.message || (await describeFailure(SCRIPT.href));
      this.#over(() => ({ error: { type: "StartError", message: `The page's worker failed: ${why}` } }));
    };
  }

  /** @returns {Seat} one more */
  join() {
    const { port1, port2 } = new MessageChannel();
    const door = /** @type {Comlink.Remote<WorkerApi>} */ (Comlink.wrap(this.#worker));
    void door.join(Comlink.transfer(port2, [port2]));
    const seat = new Seat(this, port1);
    this.#seats.add(seat);
    return seat;
  }

  /** @param {Seat} seat @param {Failure} why */
  end(seat, why) {
    this.#over((one) => (one === seat ? why : { ...why, lost: true }));
  }

  /** @param {Seat} seat @param {Failure} why */
  leave(seat, why) {
    if (!this.#seats.delete(seat)) return;
    if (!this.#seats.size) return this.#over(() => why, [seat]);
    const left = seat.api.leave().catch(() => {});
    if (seat !== this.first) void left.then(() => seat.api[Comlink.releaseProxy]()); // the first one's door is for those who join
    seat.tell(why);
  }

  /** @param {(seat: Seat) => Ended} why @param {Iterable<Seat>} [seats] */
  #over(why, seats = this.#seats) {
    if (shared === this) shared = null;
    const told = [...seats];
    this.#seats.clear();
    this.#worker.terminate();
    for (const seat of told) seat.tell(why(seat));
  }
}

/**
 * A seat in a worker: in one of its own, or in the one that is shared.
 * @param {boolean} sharing
 * @returns {Seat}
 */
export function takeSeat(sharing) {
  if (!sharing) return new Shared().first;
  if (shared) return shared.join();
  shared = new Shared();
  return shared.first;
}

/** A worker's script has to be of the page's own origin; a script that imports the site's is, where the host allows it (CORS). */
function make() {
  if (!foreign) return earlyWorker() ?? new Worker(SCRIPT, { type: "module", name: "onnxlet" });
  const source = new Blob([`import ${JSON.stringify(SCRIPT.href)};`], { type: "text/javascript" });
  return new Worker(URL.createObjectURL(source), { type: "module", name: "onnxlet" });
}
