// The numbers: checks with their points, and counts between their limits; and the way to the solution.

import {h, svg} from "../../stepper/src/dom";
import type {Check, Snapshot} from "./snapshot";

const SIGNS: Record<string, string> = {
  pass: "✓",
  fail: "✗",
  timeout: "✗",
  error: "✗",
  inconclusive: "?"
};
const WIDTH = 120;

export class ChecksView {
  readonly element = h("section", {class: "lp-section", id: "checks", "aria-label": "Checks", hidden: true});

  show(now: Snapshot): void {
    const checks = now.result?.checks ?? [];
    this.element.hidden = !checks.length;
    this.element.replaceChildren(
        h("h2", {class: "lp-title"}, "Checks and counts"),
        h("div",
          {class: "st-box", tabindex: "0", role: "group", "aria-label": "Table of checks"},
          h("table",
            {class: "lp-checks"},
            h("thead",
              {},
              h("tr",
                {},
                ...["Verdict", "Points", "Check", "Counted", "Allowed"].map((name) => h("th", {scope: "col"}, name)))),
            h("tbody", {}, ...checks.map(row)))));
  }
}

function row(check: Check): HTMLElement {
  const is_good = check.verdict === "pass", is_bad = check.verdict in SIGNS && !is_good;
  const sign = SIGNS[check.verdict];
  return h(
      "tr",
      {class: is_good ? "is-good" :
           is_bad     ? "is-bad" :
                        "is-quiet"},
      h("td", {class: "lp-verdict"}, sign ? h("span", {"aria-hidden": "true"}, `${sign} `) : null, check.verdict),
      h("td", {class: "st-num"}, check.points),
      h("td", {class: "lp-check"}, check.title + (check.remark ? ` (${check.remark})` : "")),
      ...(check.count === null ? [h("td", {}), h("td", {})] : counted(check, check.count)));
}

function number(value: number): string {
  return value.toLocaleString("en", {maximumFractionDigits: 2});
}

function counted(check: Check, count: number): HTMLElement[] {
  const n = check.n === null ? "" : `, n = ${number(check.n)}`;
  return [
    h("td", {}, h("b", {}, number(count)), h("span", {class: "lp-quiet"}, ` ${check.counter}${n}`)),
    h("td", {}, allowed(check), gauge(check, count)),
  ];
}

function allowed(check: Check): string {
  const low = check.at_least, high = check.at_most;
  if (low !== null && high !== null) return low === high ? number(low) : `${number(low)} to ${number(high)}`;
  return high !== null ? `at most ${number(high)}` : low !== null ? `at least ${number(low)}` : "";
}

/** Where the count stands: the band is what is allowed. */
function gauge(check: Check, count: number): SVGElement|null {
  const low = check.at_least ?? 0, high = check.at_most;
  const top = Math.max(count * 1.15, (high ?? low) * 1.3);
  if (top <= 0) return null;
  const at = (value: number): number => Math.round((WIDTH * 10 * Math.min(value, top)) / top) / 10;
  const end = at(high ?? top);
  return svg(
      "svg",
      {class: "lp-gauge", width: WIDTH, height: 12, "aria-hidden": "true"},
      svg("rect", {class: "lp-scale", x: 0, y: 4, width: WIDTH, height: 4, rx: 2}),
      svg("rect", {class: "lp-band", x: at(low), y: 4, width: Math.max(2, end - at(low)), height: 4, rx: 2}),
      svg("circle", {class: "lp-point", cx: Math.min(WIDTH - 5, Math.max(5, at(count))), cy: 6, r: 4.5}));
}

export function differenceView(now: Snapshot): Node[] {
  if (!now.difference) return [];
  const styles: Record<string, string> = {green: "is-added", red: "is-removed", cyan: "is-place"};
  return [h(
      "details",
      {class: "lp-section lp-difference"},
      h("summary", {}, "Compare yours with the solution"),
      h("pre",
        {tabindex: "0", "aria-label": "Difference"},
        ...now.difference.map(([text, style]) => h("span", {class: styles[style] ?? ""}, `${text}\n`))))];
}
