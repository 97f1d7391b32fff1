// What a page calls: `scanlabStepper.mount(element, trace, source, options)`.

import {type Options, Stepper} from "./stepper";
import type {Trace} from "./trace";

/** Shows the trace in `element`, beside the text of the learner's file. */
export function mount(element: HTMLElement, trace: Trace, source: string, options: Options = {}): Stepper {
  return new Stepper(element, trace, source, options);
}
