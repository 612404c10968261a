/** Float samples as a WAV file, for the browser's player and for downloads. */

/**
 * @param {Float32Array} samples - interleaved
 * @param {number} sampleRate - Hz
 * @param {number} channels
 * @returns {Blob} 32-bit float WAV (format tag 3, RFC 2361)
 */
export function encodeWav(samples, sampleRate, channels) {
  const head = new DataView(new ArrayBuffer(44));
  const ascii = (/** @type {number} */ at, /** @type {string} */ text) => {
    for (let i = 0; i < text.length; i += 1) head.setUint8(at + i, text.charCodeAt(i));
  };
  const frame = 4 * channels;
  ascii(0, "RIFF");
  head.setUint32(4, 36 + samples.byteLength, true);
  ascii(8, "WAVEfmt ");
  head.setUint32(16, 16, true);
  head.setUint16(20, 3, true);
  head.setUint16(22, channels, true);
  head.setUint32(24, sampleRate, true);
  head.setUint32(28, sampleRate * frame, true);
  head.setUint16(32, frame, true);
  head.setUint16(34, 32, true);
  ascii(36, "data");
  head.setUint32(40, samples.byteLength, true);
  return new Blob([head.buffer, samples.slice()], { type: "audio/wav" });
}
