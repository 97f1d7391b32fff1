// The bar with all that can be pressed: steps, how fine they are, and what is chosen.

import {h, newId} from "./dom";
import {LEVELS, type Level} from "./timeline";
import type {View} from "./view";

export interface Actions {
  go(index: number): void;
  next(): void;
  previous(): void;
  level(level: Level): void;
  choose(what: {thread?: number|null; place?: string | null}): void;
  predict(is_on: boolean): void;
  help(): void;
}

const NAMES: Record<Level, string> = {
  barrier: "barriers",
  warp: "warp and line",
  thread: "thread"
};

export class Controls {
  readonly element: HTMLElement;
  readonly thread = h("select", {class: "st-select"});
  private readonly place = h("select", {class: "st-select"});
  private readonly slider: HTMLInputElement;
  private readonly count = h("span", {class: "st-count"});
  private readonly levels = new Map<Level, HTMLInputElement>();
  private readonly predict: HTMLButtonElement;
  private readonly back: HTMLButtonElement;
  private readonly forth: HTMLButtonElement;
  private launch = -1;

  constructor(actions: Actions) {
    this.slider = h("input", {
      type: "range",
      class: "st-slider",
      min: 0,
      step: 1,
      "aria-label": "Step",
      input: () => actions.go(Number(this.slider.value))
    });
    this.back =
        h("button",
          {type: "button", class: "st-button st-round", "aria-label": "Previous step", click: () => actions.previous()},
          "‹");
    this.forth =
        h("button",
          {type: "button", class: "st-button st-round is-main", "aria-label": "Next step", click: () => actions.next()},
          "›");
    this.predict =
        h("button",
          {
            type: "button",
            class: "st-button st-toggle",
            "aria-pressed": "false",
            click: () => actions.predict(this.predict.getAttribute("aria-pressed") !== "true")
          },
          "Predict first");
    const name = newId();
    const radios = LEVELS.map((level) => {
      const radio = h("input", {type: "radio", name, value: level, change: () => actions.level(level)});
      this.levels.set(level, radio);
      return h("label", {}, radio, h("span", {}, NAMES[level]));
    });
    this.thread.addEventListener(
        "change", () => actions.choose({thread: this.thread.value === "" ? null : Number(this.thread.value)}));
    this.place.addEventListener("change", () => actions.choose({place: this.place.value || null}));
    const help =
        h("button",
          {
            type: "button",
            class: "st-button st-round",
            "aria-label": "Help: keys and signs",
            click: () => actions.help()
          },
          "?");
    this.element = h(
        "div",
        {class: "st-controls"},
        h("div", {class: "st-steps"}, this.back, this.slider, this.forth, this.count, help),
        h(
            "div",
            {class: "st-pickers"},
            h("fieldset", {class: "st-levels"}, h("legend", {}, "Step by"), ...radios),
            h("label", {class: "st-picker"}, "Thread ", this.thread),
            h("label", {class: "st-picker"}, "Place ", this.place),
            this.predict,
            ),
    );
  }

  show(view: View, is_predicting: boolean, text: string): void {
    const last = view.steps.length - 1;
    this.slider.max = `${last}`;
    this.slider.value = `${view.index}`;
    this.slider.setAttribute("aria-valuetext", `${view.index} of ${last}, ${text}`);
    this.count.textContent = `${view.index} / ${last}`;
    this.back.disabled = view.index === 0;
    this.forth.disabled = view.index === last;
    this.predict.setAttribute("aria-pressed", `${is_predicting}`);
    for (const [level, radio] of this.levels) radio.checked = level === view.level;
    if (this.launch !== view.step.launch) this.fill(view);
    this.launch = view.step.launch;
    this.thread.value = view.thread === null ? "" : `${view.thread}`;
    this.place.value = view.place ?? "";
  }

  private fill(view: View): void {
    const threads = new Set(view.course.accesses.map((access) => access.fact.thread));
    for (const race of view.trace.races)
      for (const part of race.parts)
        if (part.thread) threads.add(part.thread[0]);
    const options = [...threads].sort((a, b) => a - b).map((thread) => h("option", {value: thread}, `${thread}`));
    this.thread.replaceChildren(h("option", {value: ""}, "all"), ...options);
    const groups =
        view.course.launch.arrays.filter((array) => array.first !== null && array.last !== null).map((array) => {
          const group = h("optgroup", {label: array.name});
          for (let element = array.first ?? 0; element <= (array.last ?? -1); ++element)
            group.append(h("option", {value: `${array.name}[${element}]`}, `${array.name}[${element}]`));
          return group;
        });
    this.place.replaceChildren(h("option", {value: ""}, "none"), ...groups);
  }
}
