// What matters now: the task, the first failure, or what a pass means; and the hints.

import {h} from "../../stepper/src/dom";
import {capital} from "../../stepper/src/words";

import {press} from "./connection";

import type {Failure, Result, Snapshot} from "./snapshot";

/** How a failure leads to a line of the learner's own file, which its texts call `path`. */
interface Link {
  path: string;
  goTo(line: number): void;
}

const MOST_LINES = 8;

export function resultView(now: Snapshot, goTo: (line: number) => void): Node[] {
  const link: Link = {path: now.lab.path, goTo};
  if (now.trouble) return [card("is-trouble", "No result", h("pre", {class: "lp-facts"}, now.trouble))];
  if (!now.result) return now.state === "begin" ? [taskView(now)] : [];
  if (now.result.verdict === "pass") return [passView(now, now.result, link)];
  const {failures: [first, ...others], more} = now.result;
  if (!first) return [card("is-failure", now.result.verdict, score(now.result))];
  const folded = others.map(
      (one) =>
          h("details",
            {class: "lp-more"},
            h("summary", {}, h("span", {class: "lp-kind"}, one.kind), capital(one.headline)),
            failureBody(one, link)));
  const rest = others.length ?
      [h("div",
         {class: "lp-others"},
         h("p", {class: "lp-small"}, "Also wrong. Fix the first one first: these often go with it."),
         ...folded,
         more ? h("p", {class: "lp-small"}, `and ${more} more`) : null)] :
      [];
  return [failureView(first, now.result, link), ...rest];
}

function taskView(now: Snapshot): HTMLElement {
  return card(
      "is-task",
      "Your task",
      h("p", {class: "lp-lead"}, sentence(now.lab.summary)),
      h("ol",
        {class: "lp-todo"},
        h("li", {}, "Read the ", h("a", {href: "#handout"}, "handout"), "."),
        h("li",
          {},
          "Write in ",
          h("code", {}, now.lab.path),
          " between the lines ",
          h("code", {}, "// >>> your code"),
          " and ",
          h("code", {}, "// <<< your code"),
          "."),
        h("li", {}, "Save: the file is checked at once, and this page shows what to fix first.")));
}

function failureView(one: Failure, result: Result, link: Link): HTMLElement {
  return h(
      "section",
      {class: "lp-card is-failure", "aria-label": "Fix this first"},
      h("p", {class: "lp-over"}, h("span", {class: "lp-kind"}, one.kind), score(result)),
      h("h2", {}, capital(one.headline)),
      failureBody(one, link));
}

function failureBody(one: Failure, link: Link): HTMLElement {
  const said = [one.says, ...one.facts].join("\n");
  const lines =
      [...new Set(one.marks.map((mark) => mark.line))].filter((line) => !said.includes(`${link.path}:${line}`));
  const is_command = one.again.startsWith("grader/scanlab");
  return h(
      "div",
      {class: "lp-body"},
      ...one.says.split("\n").filter(Boolean).map((part) => h("p", {}, ...linked(sentence(part), link))),
      one.cure ? h("p", {class: "lp-cure"}, h("b", {}, "Fix: "), one.cure) : null,
      lines.length ?
          h("p", {}, "In ", ...listed(lines.slice(0, MOST_LINES).map((line) => lineButton(line, link))), ".") :
          null,
      ...factsOf(one.facts, link),
      outputsView(one),
      one.words.length ? h("details",
                           {class: "lp-words"},
                           h("summary", {}, "nvcc's own words"),
                           h("pre", {class: "lp-facts", tabindex: "0", "aria-label": "nvcc"}, one.words.join("\n"))) :
                         null,
      one.tried ? h("p", {class: "lp-small"}, `Seen in: ${one.tried}`) : null,
      one.again && (is_command || one.again !== one.says) ?
          h("p", {class: "lp-small"}, is_command ? "Again: " : "", is_command ? h("code", {}, one.again) : one.again) :
          null);
}

/** Facts as sentences; what is set in columns, or as the compiler shows a line, keeps its places. */
function factsOf(facts: string[], link: Link): HTMLElement[] {
  const isColumns = (fact: string): boolean => / {2}| \| |^\S+\[/.test(fact);
  const made: HTMLElement[] = [];
  for (let at = 0; at < facts.length;) {
    const kind = isColumns(facts[at]), first = at;
    while (at < facts.length && isColumns(facts[at]) === kind) ++at;
    const run = facts.slice(first, at);
    made.push(
        kind ? h("pre", {class: "lp-facts"}, ...linked(run.join("\n"), link)) :
               h("p", {}, ...linked(run.map(sentence).join(" "), link)));
  }
  return made;
}

/** The text with the places in the learner's own file as buttons that lead there. */
function linked(text: string, link: Link): (string|Node)[] {
  const [before, ...others] = text.split(`${link.path}:`);
  return [
    before,
    ...others.flatMap((part) => {
      const line = /^\d+/.exec(part)?.[0];
      return line ? [lineButton(Number(line), link), part.slice(line.length)] : [`${link.path}:${part}`];
    }),
  ];
}

function lineButton(line: number, {goTo}: Link): HTMLElement {
  return h("button", {type: "button", class: "st-link", click: () => goTo(line)}, `line ${line}`);
}

function listed(nodes: Node[]): (string|Node)[] {
  return nodes.flatMap((node, at) => (at ? [", ", node] : [node]));
}

function outputsView(one: Failure): HTMLElement|null {
  if (!one.outputs) return null;
  const {head, rows} = one.outputs;
  return h(
      "div",
      {class: "st-box", tabindex: "0", role: "group", "aria-label": "Outputs"},
      h("table",
        {class: "lp-outputs"},
        h("thead", {}, h("tr", {}, ...head.map((name) => h("th", {scope: "col"}, name)), h("td", {}))),
        h("tbody",
          {},
          ...rows.map(
              (row) =>
                  h("tr",
                    {class: row.is_wrong ? "is-wrong" : ""},
                    ...row.cells.map((cell) => h("td", {}, cell)),
                    h("td", {}, row.is_wrong ? "← wrong" : ""))))));
}

function passView(now: Snapshot, result: Result, link: Link): HTMLElement {
  const next = now.next;
  return card(
      "is-pass",
      "Passed",
      h("p", {class: "lp-over"}, score(result)),
      result.proved.length ?
          h("div",
            {},
            h("p", {class: "lp-strong"}, "What was proved"),
            h("ul", {}, ...result.proved.map((one) => h("li", {}, sentence(one.sentence))))) :
          h("p",
            {},
            `All ${result.run} checks pass: right results in several orders of blocks and warps, no race, and `,
            "no more work than the solution's algorithm needs."),
      ...result.advice.map(
          (one) =>
              h("details", {class: "lp-more"}, h("summary", {}, `Advice: ${one.headline}`), failureBody(one, link))),
      result.warnings.length ? h("pre", {class: "lp-facts"}, result.warnings.join("\n")) : null,
      result.printed.length ?
          h("div", {}, h("p", {}, "The program printed:"), h("pre", {class: "lp-facts"}, result.printed.join("\n"))) :
          null,
      next ? h("div",
               {class: "lp-next"},
               h("button",
                 {type: "button", class: "st-button lp-main-button", click: () => void press("next")},
                 `Next: lab ${next.number}`),
               h("p", {}, h("b", {}, next.title), `: ${next.summary}.`)) :
             h("p", {}, "All labs are passed. See how fast yours is: ", h("code", {}, "grader/scanlab bench 11")));
}

function card(kind: string, title: string, ...children: (Node|null)[]): HTMLElement {
  return h("section", {class: `lp-card ${kind}`, "aria-label": title}, h("h2", {}, title), ...children);
}

function score(result: Result): HTMLElement {
  return h(
      "span",
      {class: "lp-score"},
      `${result.points} of ${result.max_points} points · ${result.passed} of ${result.run} checks pass`);
}

function sentence(text: string): string {
  return capital(text) + (/[.!?…]$/.test(text) ? "" : ".");
}

export class HintsView {
  readonly element = h("section", {class: "lp-hints", "aria-label": "Hints"});
  private readonly list = h("ol", {class: "lp-hint-list", "aria-live": "polite"});
  private readonly button = h("button", {type: "button", class: "st-button", click: () => void press("hint")});
  private shown = "";

  constructor() {
    this.element.append(this.list, this.button);
  }

  show(now: Snapshot): void {
    const {texts, total} = now.hints, key = JSON.stringify([now.lab.name, texts]);
    this.button.hidden = texts.length >= total || now.result?.verdict === "pass";
    this.element.hidden = !texts.length && this.button.hidden;
    this.button.textContent = texts.length ? `Another hint (${texts.length + 1} of ${total})` : "Give me a hint";
    if (key !== this.shown) this.list.replaceChildren(...texts.map(hint));
    this.shown = key;
  }
}

/** Sentences as paragraphs, and lines that are indented as code. */
function hint(text: string): HTMLElement {
  return h("li", {}, ...text.split(/\n\n+/).map((part) => h(/^ {2}/m.test(part) ? "pre" : "p", {}, part)));
}
