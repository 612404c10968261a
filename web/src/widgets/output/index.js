/** The output kinds by the names that the wire form gives them. */

import { audio } from "./audio.js";
import { boxes } from "./boxes.js";
import { image } from "./image.js";
import { json } from "./json.js";
import { labels } from "./labels.js";
import { mask } from "./mask.js";
import { spans } from "./spans.js";
import { table } from "./table.js";
import { tensor } from "./tensor.js";
import { text } from "./text.js";

/** @type {Record<string, import("../widget.js").MakeOutput>} */
export const outputs = { audio, boxes, image, json, labels, mask, spans, table, tensor, text };
