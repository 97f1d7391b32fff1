// *Predict first*: before a step is shown, the learner says what a place will hold, and the trace answers.

import {h} from "./dom";
import {linesOf} from "./words";

import {type Question, normal} from "./question";
import {from} from "./sentences";

export class PredictView {
  readonly element = h("section", {class: "st-predict", hidden: true, "aria-label": "Predict first"});
  private readonly live = h("div", {"aria-live": "polite"});
  private readonly form = h("div", {class: "st-answers"});
  private question: Question|null = null;
  private right = 0;
  private asked = 0;

  /** `goOn` shows the step that was asked about. */
  constructor(private readonly goOn: () => void) {
    this.element.append(this.live, this.form);
  }

  get isOpen(): boolean {
    return this.question !== null;
  }

  ask(question: Question): void {
    this.question = question;
    this.element.hidden = false;
    const before =
        h("p", {class: "st-question"}, "What will ", h("b", {}, question.place), " hold after the next step?");
    this.live.replaceChildren(before, this.score());
    const input = h("input", {
      type: "text",
      class: "st-input",
      "aria-label": `Your own answer for ${question.place}`,
      placeholder: "3…5",
      autocomplete: "off",
      size: 8
    });
    const own = h(
        "form",
        {
          class: "st-own",
          submit: (event: Event) => {
            event.preventDefault();
            if (input.value.trim()) this.answer(input.value);
          },
        },
        input,
        h("button", {type: "submit", class: "st-button"}, "Check"),
    );
    const choices = question.answers.map(
        (text, at) =>
            h("button",
              {type: "button", class: "st-button st-answer", click: () => this.answer(text)},
              h("span", {class: "st-key", "aria-hidden": "true"}, `${at + 1}`),
              text),
    );
    this.form.replaceChildren(
        ...choices, own, h("button", {type: "button", class: "st-link", click: () => this.goOn()}, "show it"));
  }

  /** Takes the answer with this number, from 1. */
  choose(number: number): void {
    const text = this.question?.answers[number - 1];
    if (text !== undefined) this.answer(text);
  }

  private answer(text: string): void {
    const {question} = this;
    if (!question) return;
    const {write, place} = question;
    const is_right = normal(text) === normal(write.text);
    this.asked += 1;
    this.right += Number(is_right);
    this.goOn();
    this.element.hidden = false;
    const why = `thread ${write.thread} writes it in ${linesOf([write.line])}${from(write)}.`;
    this.live.replaceChildren(
        h(
            "p",
            {class: `st-question ${is_right ? "is-right" : "is-wrong"}`},
            h("b", {}, is_right ? "✓ Right: " : "✗ No: "),
            `${place} holds `,
            h("b", {}, write.text),
            is_right ? "; " : `, not ${text.trim().slice(0, 40)}; `,
            why,
            ),
        this.score(),
    );
  }

  private score(): HTMLElement {
    return h(
        "p",
        {class: "st-small"},
        this.asked ? `${this.right} of ${this.asked} right` :
                     "Choose, type it (3…5 is x3 + x4 + x5), or press 1 to 4.");
  }

  /** Takes question and answer away. */
  close(): void {
    this.question = null;
    this.element.hidden = true;
    this.live.replaceChildren();
    this.form.replaceChildren();
  }
}
