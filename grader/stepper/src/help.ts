// The keys and the signs, in a dialogue.

import {h, newId} from "./dom";

const KEYS: [string, string][] = [
  ["← →", "the step before, the next one"],
  ["↑ ↓", "coarser, finer steps"],
  ["Home End", "the first step, the last one"],
  ["p", "predict first, on or off; 1 to 4 answer"],
  ["t", "choose a thread; Escape: all again"],
  ["?", "this help"],
];
const SIGNS: [string, string][] = [
  ["3…5+5", "what a place sums up: x3 + x4 + x5, and x5 once more; id is the identity"],
  ["t5 above", "thread 5 writes this place; a dot: its value is a sum; lines lead there from what was added"],
  ["t5 below", "thread 5 reads this place"],
  ["old", "memory that no thread has written was copied; ?: no sum of inputs"],
  ["≠", "an odd value: an input twice, left out or out of order, or no sum of inputs"],
  ["!", "a race: two threads touch the place, one of them writes, and nothing orders them"],
];

export function helpDialog(): HTMLDialogElement {
  const id = newId();
  const table = (rows: [string, string][]): HTMLElement =>
      h("dl", {class: "st-keys"}, ...rows.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)]));
  const dialog = h(
      "dialog",
      {class: "st-help", "aria-labelledby": id},
      h("p", {class: "st-title", id}, "Keys and signs"),
      table(KEYS),
      table(SIGNS),
      h("p", {}, "A click on a place shows its history, a click on a thread shows what that thread does."),
      h("form", {method: "dialog"}, h("button", {class: "st-button"}, "Close")),
  );
  return dialog;
}
