// The build copies npm comlink's ES module to vendor/comlink.js, beside the page's own modules.
export * from "comlink";
