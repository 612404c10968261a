/** The input kinds by the names that App.schema() gives them. */

import { audio } from "./audio.js";
import { choice } from "./choice.js";
import { drawing } from "./drawing.js";
import { file } from "./file.js";
import { image } from "./image.js";
import { number } from "./number.js";
import { table } from "./table.js";
import { tensor } from "./tensor.js";
import { text } from "./text.js";
import { toggle } from "./toggle.js";

/** @type {Record<string, import("../widget.js").MakeInput>} */
export const inputs = { audio, choice, drawing, file, image, number, table, tensor, text, toggle };
