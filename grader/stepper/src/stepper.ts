// The component: what is chosen, and its parts, which show it.

import type {Trace} from "./trace";
import {BlocksView} from "./blocks_view";
import {Controls} from "./controls";
import {CostsView} from "./costs_view";
import {h} from "./dom";
import {findingsView, notesView} from "./findings_view";
import {helpDialog} from "./help";
import {HistoryView} from "./history_view";
import {listen} from "./keyboard";
import {MemoryView} from "./memory_view";
import {PredictView} from "./predict";
import {questionOf} from "./question";
import {whatOf, whereOf} from "./sentences";
import {capital} from "./words";
import {SourceView} from "./source_view";
import {TableView} from "./table_view";
import {Course, LEVELS, type Level, type Step, stepsOf} from "./timeline";
import {type View, viewOf} from "./view";

export interface Options {
  /** Where keys are heard: in all of the page, or (the default) where the focus is inside. */
  keys?: "page"|"inside";
  level?: Level;
  step?: number;
  predict?: boolean;
}

export class Stepper {
  private readonly courses: Course[];
  private level: Level;
  private steps: Step[] = [];
  private index = 0;
  private thread: number|null = null;
  private place: string|null = null;
  private is_predicting: boolean;

  private readonly controls: Controls;
  private readonly source: SourceView;
  private readonly memory: MemoryView;
  private readonly costs = new CostsView();
  private readonly table = new TableView();
  private readonly blocks = new BlocksView();
  private readonly history = new HistoryView((index) => this.go(index));
  private readonly predict: PredictView;
  private readonly help = helpDialog();
  private readonly where = h("span", {class: "st-where"});
  private readonly what = h("span", {});
  private readonly watched: ResizeObserver;
  private readonly endKeys: () => void;

  constructor(private readonly root: HTMLElement, private readonly trace: Trace, source: string, options: Options) {
    this.courses = trace.launches.map((launch) => new Course(launch));
    this.level = options.level ?? this.firstLevel();
    this.is_predicting = options.predict ?? false;
    this.predict = new PredictView(() => this.go(this.index + 1));
    this.controls = new Controls({
      go: (index) => this.go(index),
      next: () => this.next(),
      previous: () => this.go(this.index - 1),
      level: (level) => this.setLevel(level),
      choose: (what) => this.choose(what),
      predict: (is_on) => this.setPredicting(is_on),
      help: () => this.help.showModal(),
    });
    this.source = new SourceView(trace, source);
    // A click on what is chosen takes it back.
    this.memory = new MemoryView(({thread, place}) => {
      if (thread !== undefined) this.choose({thread: thread === this.thread || thread < 0 ? null : thread});
      if (place !== undefined) this.choose({place: place === this.place ? null : place});
    });
    this.build(source !== "");
    this.steps = this.stepsNow();
    this.index = Math.max(0, Math.min(options.step ?? 0, this.steps.length - 1));
    this.watched = new ResizeObserver(() => this.show());
    this.watched.observe(this.root);
    this.endKeys = listen(options.keys === "page" ? document : root, {
      next: () => this.next(),
      previous: () => this.go(this.index - 1),
      finer: () => this.setLevel(LEVELS[LEVELS.indexOf(this.level) + 1]),
      coarser: () => this.setLevel(LEVELS[LEVELS.indexOf(this.level) - 1]),
      first: () => this.go(0),
      last: () => this.go(this.steps.length - 1),
      predict: () => this.setPredicting(!this.is_predicting),
      thread: () => this.controls.thread.focus(),
      everything: () => this.choose({thread: null, place: null}),
      help: () => this.help.showModal(),
      answer: (number) => {
        const {isOpen} = this.predict;
        this.predict.choose(number);
        return isOpen;
      },
    });
    this.show();
  }

  /** Takes the component off the page. */
  destroy(): void {
    this.watched.disconnect();
    this.endKeys();
    this.root.replaceChildren();
    this.root.classList.remove("scanlab-stepper");
  }

  /** What is chosen now, for a stepper that takes this one's place. */
  get chosen(): Options {
    return {level: this.level, step: this.index, predict: this.is_predicting};
  }

  go(index: number): void {
    this.predict.close();
    this.index = Math.max(0, Math.min(index, this.steps.length - 1));
    this.show();
  }

  next(): void {
    const step = this.steps[this.index + 1];
    const question =
        this.is_predicting && step && !this.predict.isOpen ? questionOf(this.courses[step.launch], step) : null;
    if (question)
      this.predict.ask(question);
    else
      this.go(this.index + 1);
  }

  private build(has_source: boolean): void {
    const caption = h("p", {class: "st-caption", "aria-live": "polite"}, this.where, this.what);
    const findings = findingsView(this.trace, this.courses, (is) => {
      this.choose({thread: null});
      this.go(this.steps.findIndex(is));
    });
    const notes = notesView(this.trace);
    const memory =
        h("div",
          {class: "st-right"},
          caption,
          this.predict.element,
          this.memory.element,
          this.history.element,
          this.costs.element);
    this.root.classList.add("scanlab-stepper");
    this.root.replaceChildren(
        ...(findings ? [findings] : []),
        this.controls.element,
        has_source ? h("div", {class: "st-panes"}, this.source.element, memory) : memory,
        this.blocks.element,
        this.table.element,
        ...(notes ? [notes] : []),
        this.help,
    );
  }

  /** Where barriers divide nothing, a step by barriers would show all at once. */
  private firstLevel(): Level {
    const intervals = this.courses.reduce((sum, course) => sum + course.launch.intervals.length, 0);
    return intervals > this.courses.length ? "barrier" : "warp";
  }

  private stepsNow(): Step[] {
    return stepsOf(this.trace, this.courses, this.level, this.thread);
  }

  private setLevel(level: Level|undefined): void {
    if (!level) return;
    this.level = level;
    this.remake();
  }

  private choose(what: {thread?: number|null; place?: string | null}): void {
    if (what.thread !== undefined) this.thread = what.thread;
    if (what.place !== undefined) this.place = what.place;
    this.remake();
  }

  /** Makes the steps anew, and stays where it was: at the step that shows the same access. */
  private remake(): void {
    const now = this.steps[this.index] as Step | undefined;
    if (!now) return;
    this.predict.close();
    this.steps = this.stepsNow();
    const same = this.steps.findIndex(
        (step) =>
            step.launch === now.launch && step.kind === now.kind && step.finding === now.finding && step.to > now.from,
    );
    const near = this.steps.findIndex((step) => step.launch === now.launch && step.to >= now.to);
    const other = this.steps.findIndex(
        (step) => step.kind === now.kind && step.launch === now.launch && step.finding === now.finding);
    this.index = now.kind !== "accesses" && other >= 0 ? other :
        same >= 0                                      ? same :
        near >= 0                                      ? near :
                                                         this.steps.length - 1;
    this.show();
  }

  private setPredicting(is_on: boolean): void {
    this.is_predicting = is_on;
    this.predict.close();
    this.show();
  }

  private show(): void {
    if (!this.steps.length) {
      this.what.textContent =
          this.courses.length ? `Block ${this.trace.block} has not run in these launches.` : "No kernel was launched.";
      return;
    }
    const view: View = viewOf(
        this.trace, this.courses, this.steps, this.index, {level: this.level, thread: this.thread, place: this.place});
    const where = whereOf(view), what = whatOf(view);
    this.where.textContent = capital(where);
    this.what.textContent = what;
    this.controls.show(view, this.is_predicting, where);
    this.source.show(view);
    this.memory.show(view, what);
    this.history.show(view);
    this.costs.show(view);
    this.blocks.show(view);
    this.table.show(view);
  }
}
