/** Why a camera or a microphone did not start, in a sentence that says what to do. */

import { t } from "../words.js";

/**
 * @param {"camera" | "microphone"} device
 * @param {MediaStreamConstraints} constraints
 * @returns {Promise<{stream: MediaStream} | {refused: string}>}
 */
export async function openDevice(device, constraints) {
  const name = t(`device_${device}`);
  if (!navigator.mediaDevices) return { refused: t("device_insecure", { device: name }) }; // only secure pages have it
  try {
    return { stream: await navigator.mediaDevices.getUserMedia(constraints) };
  } catch (error) {
    const { name: kind, message } = /** @type {DOMException} */ (error);
    if (kind === "NotAllowedError" || kind === "SecurityError") return { refused: t("device_refused", { device: name }) };
    if (kind === "NotFoundError" || kind === "OverconstrainedError") return { refused: t("device_missing", { device: name }) };
    if (kind === "NotReadableError" || kind === "AbortError") return { refused: t("device_busy", { device: name }) };
    return { refused: t("device_failed", { device: name, message: message || kind }) };
  }
}

/** @param {MediaStream | null} stream */
export function closeDevice(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
