// The page of `grader/scanlab learn --browser`: each part shows its share of a snapshot, and only when that is new.

import {h} from "../../stepper/src/dom";

import {ChecksView, differenceView} from "./checks_view";
import {listen} from "./connection";
import {HandoutView} from "./handout_view";
import {HeadView} from "./head_view";
import {HintsView, resultView} from "./result_view";

import type {Snapshot} from "./snapshot";
import {SourcePane} from "./source_pane";
import {StepsView} from "./steps_view";

const head = new HeadView(), hints = new HintsView(), steps = new StepsView(), checks = new ChecksView();
const handout = new HandoutView();
const source = new SourcePane();
const result = h("div", {class: "lp-result"});
const difference = h("div", {});
let shown: Snapshot|null = null;

function show(now: Snapshot): void {
  const is_same_lab = shown?.lab.name === now.lab.name && shown.lab.path === now.lab.path;
  head.show(now);
  hints.show(now);
  handout.show(now);
  steps.show(now, is_same_lab);
  // Until a save has its own result, the one before stays, with the text that it is about: nothing jumps.
  const is_waiting = now.state === "checking" && is_same_lab && shown?.result != null;
  document.body.classList.toggle("is-waiting", is_waiting);
  if (!is_waiting) showResult(now, is_same_lab);
  head.lead([steps.element, checks.element, handout.element]);
}

function showResult(now: Snapshot, is_same_lab: boolean): void {
  const is_other = (now.state === "begin") !== (shown?.state === "begin");
  if (!is_same_lab || is_other || differs(now, shown, "result", "trouble", "next"))
    result.replaceChildren(...resultView(now, (line) => source.goTo(line)));
  if (!is_same_lab || differs(now, shown, "result", "source")) source.show(now, is_same_lab);
  if (!is_same_lab || differs(now, shown, "result")) checks.show(now);
  if (!is_same_lab || differs(now, shown, "difference")) difference.replaceChildren(...differenceView(now));
  shown = now;
}

function differs(now: Snapshot, before: Snapshot|null, ...keys: (keyof Snapshot)[]): boolean {
  return keys.some((key) => JSON.stringify(now[key]) !== JSON.stringify(before?.[key]));
}

document.getElementById("page")?.replaceChildren(
    head.element,
    h("main",
      {class: "lp-main"},
      h("div", {class: "lp-left"}, result, hints.element, source.element),
      handout.element,
      h("div", {class: "lp-below"}, steps.element, checks.element, difference)),
);
listen({snapshot: show, lost: () => head.say("No connection to the terminal; trying again …"), over: () => head.end()});
