// What the warps of a step do: which lanes take part in a line, bank conflicts, and sectors.

import type {Instruction} from "./trace";
import {h, svg} from "./dom";
import {WARP} from "./timeline";
import type {View} from "./view";
import {counted, named, ranges} from "./words";

const MOST_ROWS = 10;
const FLOAT = 4, AFFINE = 8;

export class CostsView {
  readonly element = h("div", {class: "st-costs"});

  show(view: View): void {
    const rows = joined(view.course.instructions(view.step, view.level));
    const {launch} = view.course;
    const parts: Node[] = [];
    if (rows.length) {
      const body = h("tbody", {}, ...rows.slice(0, MOST_ROWS).map((row) => this.row(row, launch.block_size)));
      const head =
          h("tr",
            {},
            ...["line", "", "warps", "lanes", "cost of each warp"].map(
                (text) => h("th", {scope: "col"}, text || "access")));
      parts.push(
          h("div",
            {class: "st-box", tabindex: "0", role: "group", "aria-label": "Warps and lanes"},
            h("table", {}, h("thead", {}, head), body)),
      );
      if (rows.length > MOST_ROWS)
        parts.push(h("p", {class: "st-small"}, `and ${counted(rows.length - MOST_ROWS, "more kind")} of access`));
      parts.push(h("p", {class: "st-small"}, this.summary(view, rows)));
    } else
      parts.push(
          h("p",
            {class: "st-small"},
            view.step.kind === "race" ? "These two accesses alone are shown." : "Nothing is read or written here."));
    this.element.replaceChildren(...parts);
  }

  private row({one, times}: {one: Instruction; times: number}, block: [number, number, number]): HTMLElement {
    const warps = one.orders.map((_, k) => one.first_warp + k);
    const cost = costOf(one);
    return h(
        "tr",
        {},
        h("td", {class: "st-num"}, one.line ? `${one.line}` : "?"),
        h("td",
          {},
          `${one.does === "atomic" ? "atomic on" : `${one.does}s`} ${one.array}`,
          times > 1 ? ` (${times} times)` : null),
        h("td", {}, ranges(warps)),
        h("td", {}, lanes(one, block)),
        h("td",
          {class: cost.is_bad ? "st-bad" : ""},
          cost.text,
          one.bytes === FLOAT ? null : ` (${one.bytes} bytes a lane)`),
    );
  }

  private summary(view: View, rows: {one: Instruction; times: number}[]): string {
    const total = (what: (one: Instruction) => number): number =>
        rows.reduce((sum, {one, times}) => sum + times * one.orders.length * what(one), 0);
    const {launch} = view.course;
    const step = `${counted(total((one) => one.replays), "replay")} by bank conflicts, ${
        counted(total((one) => one.sectors), "sector")}`;
    const all = `${counted(launch.replays ?? 0, "replay")}, ${counted(launch.sectors ?? 0, "sector")}, of which ${
        (launch.least_sectors ?? 0).toLocaleString("en")} are needed`;
    const size = view.trace.element === "affine" ?
        `Elements count as floats of ${FLOAT} bytes, which are graded; the maps of this run have ${AFFINE}.` :
        `Elements are floats of ${FLOAT} bytes.`;
    return `This step: ${step}. The whole block: ${all}. ${size}`;
  }
}

function joined(instructions: Instruction[]): {one: Instruction; times: number}[] {
  const found = new Map < string, {
    one: Instruction;
    times: number
  }
  > ();
  for (const one of instructions) {
    const {line, does, array, first_warp, orders, lanes: mask, bytes, replays, sectors, least_sectors} = one;
    const id = [line, does, array, first_warp, orders.length, mask, bytes, replays, sectors, least_sectors].join(" ");
    const known = found.get(id);
    if (known)
      ++known.times;
    else
      found.set(id, {one, times: 1});
  }
  return [...found.values()];
}

function costOf(one: Instruction): {text: string; is_bad: boolean} {
  if (one.sectors) {
    const is_bad = one.sectors > one.least_sectors;
    return {
      text:
          `${counted(one.sectors, "sector")}${is_bad ? `, ${one.least_sectors} would do` : ", the least there can be"}`,
      is_bad
    };
  }
  if (!one.replays) return {text: "no bank conflict", is_bad: false};
  const words = one.bytes <= FLOAT ? `: ${one.replays + 1} words in one bank` : "";
  return {text: `${counted(one.replays, "replay")}${words}`, is_bad: true};
}

function lanes(one: Instruction, block: [number, number, number]): HTMLElement {
  const threads = block[0] * block[1] * block[2];
  const there = Math.min(WARP, threads - one.first_warp * WARP);
  const active: number[] = [];
  const strip = svg(
      "svg", {class: "st-lanes", width: 4 * there, height: 10, viewBox: `0 0 ${4 * there} 10`, "aria-hidden": "true"});
  for (let lane = 0; lane < there; ++lane) {
    const is_active = (one.lanes >>> lane) % 2 === 1;
    if (is_active) active.push(lane);
    const state = is_active ? "is-active" : "is-idle";
    strip.append(
        svg("rect", {class: state, x: 4 * lane, y: is_active ? 0 : 3.5, width: 3, height: is_active ? 10 : 3}));
  }
  const text = active.length === there ? (there === 1 ? "the only one" : `all ${there}`) :
                                                        `${active.length} of ${there}: ${named("lane", active)}`;
  return h("span", {class: "st-lane-text"}, strip as unknown as Node, text);
}
