/** What a page of somebody else's does with the apps: it calls one of them, and hears of what the elements do. */

import { load } from "../embedded/onnxlet.js";

const heard = [];
for (const element of document.querySelectorAll("onnxlet-app")) {
  for (const name of ["ready", "result", "error"]) {
    element.addEventListener(name, ({ detail }) => heard.push([element.id, name, detail.message ?? detail]));
  }
}

Object.assign(globalThis, { load, heard });
