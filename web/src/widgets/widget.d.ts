/** What the files of widgets/ agree on. The wire form of each kind is in docs/architecture.md. */

import type { FormField, WireValue } from "../protocol.js";

/** A value on its way to Python; `wire.buffer` counts within `buffers`. */
export interface Given {
  wire: WireValue;
  buffers: Uint8Array[];
}

/** What an input kind makes: one control of the form. */
export interface InputWidget {
  element: HTMLElement;
  /** The native control that a <label> can point at; without it the field is a labelled group. */
  control?: HTMLElement;
  /** null when nothing was given. Throws an Error with a sentence when what was given cannot be used. */
  value(): Promise<Given | null>;
  /** Shows a value, such as an example's. */
  set(wire: WireValue, buffers: Uint8Array[]): void;
  /** Takes a dropped or pasted file; false when this kind has no use for it. */
  take?(file: File): boolean;
  /** Lets go of the camera and the microphone: nobody sees the form. */
  rest?(): void;
  /** The form is seen again: goes on where `rest` ended live input. */
  wake?(): void;
}

/** Input that comes by itself while it is open. */
export interface Flow {
  /** Whether nobody has closed it. */
  readonly open: boolean;
  /** Resolves as soon as there is something to take that was not taken yet: true; false once it is closed. */
  fresh(): Promise<boolean>;
  /** Forgets what came so far: what comes next has nothing before it. */
  renew(): void;
  /** What was not taken during this time, in words; "" where that is nothing. Called at intervals, of `time_s` each. */
  lost(time_s: number): string;
  /** Lets go of the device; more than once does no harm. */
  close(): void;
  /** Resolves when somebody has closed it. */
  closed: Promise<void>;
}

export interface InputContext {
  /** Called after the visitor changed the value. */
  changed(): void;
  /** Says what is wrong beside the field; "" takes it back. */
  complain(message: string): void;
  /** The app asks for live input: cameras and microphones stay open. */
  live: boolean;
  /** Called when live input begins, of which `value` takes the newest. */
  flows(flow: Flow): void;
}

export type MakeInput = (field: FormField, context: InputContext) => InputWidget;

export interface Shown {
  element: HTMLElement;
  /** What a screen reader hears. */
  summary: string;
}

export type MakeOutput = (display: WireValue, buffers: Uint8Array[]) => Shown;
