"use strict";
var scanlabStepper = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from2, except, desc) => {
    if (from2 && typeof from2 === "object" || typeof from2 === "function") {
      for (let key2 of __getOwnPropNames(from2))
        if (!__hasOwnProp.call(to, key2) && key2 !== except)
          __defProp(to, key2, { get: () => from2[key2], enumerable: !(desc = __getOwnPropDesc(from2, key2)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // src/index.ts
  var src_exports = {};
  __export(src_exports, {
    mount: () => mount
  });

  // src/dom.ts
  var SVG = "http://www.w3.org/2000/svg";
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function")
        element.addEventListener(name, value);
      else if (value === true)
        element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== void 0)
        element.setAttribute(name, String(value));
    }
    element.append(
      ...children.filter((child) => child !== null && child !== void 0 && child !== false)
    );
  }
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
  }
  function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    fill(element, attributes, children);
    return element;
  }
  var made = 0;
  function newId() {
    return `stepper-${++made}`;
  }

  // src/words.ts
  var MOST_NAMED = 4;
  function counted(count2, one2, many = `${one2}s`) {
    return `${count2.toLocaleString("en")} ${count2 === 1 ? one2 : many}`;
  }
  function runsOf(numbers) {
    const runs = [];
    for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
      const last = runs[runs.length - 1];
      if (last && last[1] + 1 === number)
        last[1] = number;
      else
        runs.push([number, number]);
    }
    return runs;
  }
  function ranges(numbers, most = MOST_NAMED) {
    const runs = runsOf(numbers);
    const texts = runs.slice(0, most).map(([first, last]) => first === last ? `${first}` : `${first}–${last}`);
    return texts.join(", ") + (runs.length > most ? " …" : "");
  }
  function named(word, numbers) {
    const all = new Set(numbers);
    return `${word}${all.size === 1 ? "" : "s"} ${ranges(all)}`;
  }
  function linesOf(numbers) {
    const own = [...numbers].filter((line) => line);
    return own.length ? named("line", own) : "another file";
  }
  function listed(texts) {
    return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
  }
  function placeName(of) {
    return `${of.array}[${of.element}]`;
  }
  function sum(sources) {
    return sources.map(placeName).join(" + ");
  }
  function capital(text) {
    return /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  }

  // src/blocks_view.ts
  var BlocksView = class {
    element = h("section", { class: "st-blocks", hidden: true });
    launch = null;
    show(view) {
      const { launch } = view.course;
      if (launch === this.launch)
        return;
      this.launch = launch;
      const talks = launch.talks ?? [];
      this.element.hidden = !talks.length;
      const blocks = [...new Set(talks.map((talk) => talk.block))].sort((a, b) => a - b);
      const head = blocks.map(
        (block) => h("th", { scope: "col" }, `block ${block}${block === view.trace.block ? " (this one)" : ""}`)
      );
      const rows = talks.map((talk) => {
        const cells = blocks.map((block) => h("td", {}, ...block === talk.block ? [mark(talk), ` ${says(talk)}`] : []));
        return h("tr", {}, ...cells);
      });
      const table = h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
      this.element.replaceChildren(
        h("p", { class: "st-title" }, "How blocks talk"),
        h(
          "p",
          { class: "st-small" },
          "Where several blocks touch a place of global memory and one of them writes it, time going down."
        ),
        h("div", { class: "st-box", tabindex: "0", role: "group", "aria-label": "How blocks talk" }, table)
      );
    }
  };
  function mark(talk) {
    const sign = { read: "r", write: "w", atomic: "rw" }[talk.does];
    return h("b", { class: `st-does is-${talk.does}`, "aria-hidden": "true" }, sign);
  }
  function says(talk) {
    const place = placeName(talk);
    const times = talk.times > 1 ? `, ${talk.times} times` : "";
    const does = {
      read: `reads ${place}: ${talk.text}`,
      write: `writes ${talk.text} to ${place}`,
      atomic: `atomic on ${place}`
    }[talk.does];
    return `${does} (${linesOf([talk.line])}${times})`;
  }

  // src/timeline.ts
  var LEVELS = ["barrier", "warp", "thread"];
  var WARP = 32;
  function isWrite(access) {
    return access.kind === "write";
  }
  function key(array, element) {
    return `${array}[${element}]`;
  }
  var Course = class {
    constructor(launch) {
      this.launch = launch;
      launch.intervals.forEach((interval, at) => {
        const facts = [
          ...interval.reads.map((fact) => ({ kind: "read", fact })),
          ...interval.writes.map((fact) => ({ kind: "write", fact }))
        ];
        facts.sort((a, b) => a.fact.order - b.fact.order || a.fact.thread - b.fact.thread);
        for (const one2 of facts)
          this.accesses.push({ ...one2, at: this.accesses.length, interval: at });
      });
      for (const access of this.accesses)
        if (isWrite(access))
          this.writes.set(access.fact.id, access);
      for (const row of launch.before)
        row.cells.forEach((text, k) => {
          if (text !== null)
            this.before.set(key(row.array, row.first + k), { text });
        });
    }
    accesses = [];
    before = /* @__PURE__ */ new Map();
    writes = /* @__PURE__ */ new Map();
    /** What memory holds after the accesses before number `to`. */
    memory(to) {
      const found = new Map(this.before);
      for (const access of this.accesses.slice(0, to))
        if (isWrite(access))
          found.set(key(access.fact.array, access.fact.element), { text: access.fact.text, write: access.fact });
      return found;
    }
    /** What warps do in a step, also at places that are not shown. */
    instructions(step, level) {
      const interval = this.launch.intervals[step.interval];
      if (!interval || step.kind !== "accesses")
        return [];
      if (level === "barrier")
        return interval.instructions;
      const order = this.accesses[step.from].fact.order;
      const found = [];
      for (const one2 of interval.instructions) {
        const k = one2.orders.indexOf(order);
        if (k >= 0)
          found.push({ ...one2, first_warp: one2.first_warp + k, orders: [order] });
      }
      return found;
    }
  };
  function stepsOf(trace, courses, level, thread) {
    const steps = [];
    courses.forEach((course, launch) => {
      if (!course.launch.traced)
        return;
      steps.push({ kind: "before", launch, interval: -1, from: 0, to: 0 });
      const races = racesOf(trace, course);
      const { accesses } = course;
      const group = (access) => level === "barrier" ? `${access.interval}` : `${access.interval} ${access.fact.order}${level === "thread" ? ` ${access.fact.thread}` : ""}`;
      for (let from2 = 0, to = 0; from2 < accesses.length; from2 = to) {
        while (to < accesses.length && group(accesses[to]) === group(accesses[from2]))
          ++to;
        const interval = accesses[from2].interval;
        if (level !== "thread" || thread === null || accesses[from2].fact.thread === thread)
          steps.push({ kind: "accesses", launch, interval, from: from2, to });
        for (const { finding, to: end } of races)
          if (end > from2 && end <= to)
            steps.push({ kind: "race", launch, interval, from: to, to, finding });
      }
      if (!accesses.length)
        for (const { finding } of races)
          steps.push({ kind: "race", launch, interval: -1, from: 0, to: 0, finding });
    });
    if (trace.failure && courses.length) {
      const launch = courses.length - 1;
      const end = courses[launch].accesses.length;
      steps.push({ kind: "failure", launch, interval: courses[launch].launch.intervals.length - 1, from: end, to: end });
    }
    return steps;
  }
  function racesOf(trace, course) {
    return trace.races.filter((finding) => finding.kernel === course.launch.kernel && finding.parts.length === 2).map((finding) => raceOf(finding, course));
  }
  function raceOf(finding, course) {
    const marked = course.accesses.filter((access) => access.fact.race && access.fact.array === finding.variable);
    const [firsts, seconds] = finding.parts.map((part) => marked.filter((access) => fits(access, part)));
    const pairs = firsts.flatMap(
      (first) => seconds.filter((second) => meet(course, first, second)).map((second) => [first, second])
    );
    const [one2, other] = finding.parts.map((part) => part.thread?.[0] ?? -1);
    const own = pairs.find(
      ([first, second]) => first.fact.element === finding.element && first.fact.thread === one2 && second.fact.thread === other
    );
    const is_within = warpOf(one2) === warpOf(other);
    const alike = pairs.find(
      ([first, second]) => first.at < second.at && warpOf(first.fact.thread) === warpOf(second.fact.thread) === is_within
    );
    const pair = own ?? alike ?? null;
    const last = pair ? Math.max(...pair.map((access) => access.at)) : pairs[0]?.[1].at;
    return { finding, to: last === void 0 ? course.accesses.length : last + 1, pair };
  }
  function warpOf(thread) {
    return Math.floor(thread / WARP);
  }
  function fits(access, part) {
    return access.fact.line === part.line && (part.does !== "read" && part.does !== "write" ? true : access.kind === part.does);
  }
  function meet(course, one2, other) {
    const barriers = (access) => course.launch.intervals[access.interval].barriers;
    return one2.fact.thread !== other.fact.thread && one2.fact.element === other.fact.element && barriers(one2) === barriers(other);
  }

  // src/controls.ts
  var NAMES = {
    barrier: "barriers",
    warp: "warp and line",
    thread: "thread"
  };
  var Controls = class {
    element;
    thread = h("select", { class: "st-select" });
    place = h("select", { class: "st-select" });
    slider;
    count = h("span", { class: "st-count" });
    levels = /* @__PURE__ */ new Map();
    predict;
    back;
    forth;
    launch = -1;
    constructor(actions) {
      this.slider = h("input", {
        type: "range",
        class: "st-slider",
        min: 0,
        step: 1,
        "aria-label": "Step",
        input: () => actions.go(Number(this.slider.value))
      });
      this.back = h(
        "button",
        { type: "button", class: "st-button st-round", "aria-label": "Previous step", click: () => actions.previous() },
        "‹"
      );
      this.forth = h(
        "button",
        { type: "button", class: "st-button st-round is-main", "aria-label": "Next step", click: () => actions.next() },
        "›"
      );
      this.predict = h(
        "button",
        {
          type: "button",
          class: "st-button st-toggle",
          "aria-pressed": "false",
          click: () => actions.predict(this.predict.getAttribute("aria-pressed") !== "true")
        },
        "Predict first"
      );
      const name = newId();
      const radios = LEVELS.map((level) => {
        const radio = h("input", { type: "radio", name, value: level, change: () => actions.level(level) });
        this.levels.set(level, radio);
        return h("label", {}, radio, h("span", {}, NAMES[level]));
      });
      this.thread.addEventListener(
        "change",
        () => actions.choose({ thread: this.thread.value === "" ? null : Number(this.thread.value) })
      );
      this.place.addEventListener("change", () => actions.choose({ place: this.place.value || null }));
      const help = h(
        "button",
        {
          type: "button",
          class: "st-button st-round",
          "aria-label": "Help: keys and signs",
          click: () => actions.help()
        },
        "?"
      );
      this.element = h(
        "div",
        { class: "st-controls" },
        h("div", { class: "st-steps" }, this.back, this.slider, this.forth, this.count, help),
        h(
          "div",
          { class: "st-pickers" },
          h("fieldset", { class: "st-levels" }, h("legend", {}, "Step by"), ...radios),
          h("label", { class: "st-picker" }, "Thread ", this.thread),
          h("label", { class: "st-picker" }, "Place ", this.place),
          this.predict
        )
      );
    }
    show(view, is_predicting, text) {
      const last = view.steps.length - 1;
      this.slider.max = `${last}`;
      this.slider.value = `${view.index}`;
      this.slider.setAttribute("aria-valuetext", `${view.index} of ${last}, ${text}`);
      this.count.textContent = `${view.index} / ${last}`;
      this.back.disabled = view.index === 0;
      this.forth.disabled = view.index === last;
      this.predict.setAttribute("aria-pressed", `${is_predicting}`);
      for (const [level, radio] of this.levels)
        radio.checked = level === view.level;
      if (this.launch !== view.step.launch)
        this.fill(view);
      this.launch = view.step.launch;
      this.thread.value = view.thread === null ? "" : `${view.thread}`;
      this.place.value = view.place ?? "";
    }
    fill(view) {
      const threads = new Set(view.course.accesses.map((access) => access.fact.thread));
      for (const race of view.trace.races)
        for (const part of race.parts)
          if (part.thread)
            threads.add(part.thread[0]);
      const options = [...threads].sort((a, b) => a - b).map((thread) => h("option", { value: thread }, `${thread}`));
      this.thread.replaceChildren(h("option", { value: "" }, "all"), ...options);
      const groups = view.course.launch.arrays.filter((array) => array.first !== null && array.last !== null).map((array) => {
        const group = h("optgroup", { label: array.name });
        for (let element = array.first ?? 0; element <= (array.last ?? -1); ++element)
          group.append(h("option", { value: `${array.name}[${element}]` }, `${array.name}[${element}]`));
        return group;
      });
      this.place.replaceChildren(h("option", { value: "" }, "none"), ...groups);
    }
  };

  // src/costs_view.ts
  var MOST_ROWS = 10;
  var FLOAT = 4;
  var AFFINE = 8;
  var CostsView = class {
    element = h("div", { class: "st-costs" });
    show(view) {
      const rows = joined(view.course.instructions(view.step, view.level));
      const { launch } = view.course;
      const parts = [];
      if (rows.length) {
        const body = h("tbody", {}, ...rows.slice(0, MOST_ROWS).map((row) => this.row(row, launch.block_size)));
        const head = h(
          "tr",
          {},
          ...["line", "", "warps", "lanes", "cost of each warp"].map(
            (text) => h("th", { scope: "col" }, text || "access")
          )
        );
        parts.push(
          h(
            "div",
            { class: "st-box", tabindex: "0", role: "group", "aria-label": "Warps and lanes" },
            h("table", {}, h("thead", {}, head), body)
          )
        );
        if (rows.length > MOST_ROWS)
          parts.push(h("p", { class: "st-small" }, `and ${counted(rows.length - MOST_ROWS, "more kind")} of access`));
        parts.push(h("p", { class: "st-small" }, this.summary(view, rows)));
      } else
        parts.push(
          h(
            "p",
            { class: "st-small" },
            view.step.kind === "race" ? "These two accesses alone are shown." : "Nothing is read or written here."
          )
        );
      this.element.replaceChildren(...parts);
    }
    row({ one: one2, times }, block) {
      const warps = one2.orders.map((_, k) => one2.first_warp + k);
      const cost = costOf(one2);
      return h(
        "tr",
        {},
        h("td", { class: "st-num" }, one2.line ? `${one2.line}` : "?"),
        h(
          "td",
          {},
          `${one2.does === "atomic" ? "atomic on" : `${one2.does}s`} ${one2.array}`,
          times > 1 ? ` (${times} times)` : null
        ),
        h("td", {}, ranges(warps)),
        h("td", {}, lanes(one2, block)),
        h(
          "td",
          { class: cost.is_bad ? "st-bad" : "" },
          cost.text,
          one2.bytes === FLOAT ? null : ` (${one2.bytes} bytes a lane)`
        )
      );
    }
    summary(view, rows) {
      const total = (what) => rows.reduce((sum2, { one: one2, times }) => sum2 + times * one2.orders.length * what(one2), 0);
      const { launch } = view.course;
      const step = `${counted(total((one2) => one2.replays), "replay")} by bank conflicts, ${counted(total((one2) => one2.sectors), "sector")}`;
      const all = `${counted(launch.replays ?? 0, "replay")}, ${counted(launch.sectors ?? 0, "sector")}, of which ${(launch.least_sectors ?? 0).toLocaleString("en")} are needed`;
      const size = view.trace.element === "affine" ? `Elements count as floats of ${FLOAT} bytes, which are graded; the maps of this run have ${AFFINE}.` : `Elements are floats of ${FLOAT} bytes.`;
      return `This step: ${step}. The whole block: ${all}. ${size}`;
    }
  };
  function joined(instructions) {
    const found = /* @__PURE__ */ new Map();
    for (const one2 of instructions) {
      const { line, does, array, first_warp, orders, lanes: mask, bytes, replays, sectors, least_sectors } = one2;
      const id = [line, does, array, first_warp, orders.length, mask, bytes, replays, sectors, least_sectors].join(" ");
      const known = found.get(id);
      if (known)
        ++known.times;
      else
        found.set(id, { one: one2, times: 1 });
    }
    return [...found.values()];
  }
  function costOf(one2) {
    if (one2.sectors) {
      const is_bad = one2.sectors > one2.least_sectors;
      return {
        text: `${counted(one2.sectors, "sector")}${is_bad ? `, ${one2.least_sectors} would do` : ", the least there can be"}`,
        is_bad
      };
    }
    if (!one2.replays)
      return { text: "no bank conflict", is_bad: false };
    const words = one2.bytes <= FLOAT ? `: ${one2.replays + 1} words in one bank` : "";
    return { text: `${counted(one2.replays, "replay")}${words}`, is_bad: true };
  }
  function lanes(one2, block) {
    const threads = block[0] * block[1] * block[2];
    const there = Math.min(WARP, threads - one2.first_warp * WARP);
    const active = [];
    const strip = svg(
      "svg",
      { class: "st-lanes", width: 4 * there, height: 10, viewBox: `0 0 ${4 * there} 10`, "aria-hidden": "true" }
    );
    for (let lane = 0; lane < there; ++lane) {
      const is_active = (one2.lanes >>> lane) % 2 === 1;
      if (is_active)
        active.push(lane);
      const state = is_active ? "is-active" : "is-idle";
      strip.append(
        svg("rect", { class: state, x: 4 * lane, y: is_active ? 0 : 3.5, width: 3, height: is_active ? 10 : 3 })
      );
    }
    const text = active.length === there ? there === 1 ? "the only one" : `all ${there}` : `${active.length} of ${there}: ${named("lane", active)}`;
    return h("span", { class: "st-lane-text" }, strip, text);
  }

  // src/findings_view.ts
  var MOST_ODD = 8;
  function findingsView(trace, courses, go) {
    const items = trace.races.map((race, at) => {
      const lines = named("line", race.parts.map((part) => part.line));
      return item(
        `Race ${at + 1}: ${race.variable}, ${lines} (${race.kind})`,
        race.text,
        () => go((step) => step.finding === race)
      );
    });
    const cause = trace.failure?.cause;
    if (cause) {
      const title = cause.actual || cause.rationale || "The call did not end well";
      items.push(item(title, causeText(trace), () => go((step) => step.kind === "failure")));
    }
    courses.forEach((course, launch) => {
      const odd = [...course.writes.values()].filter((access) => access.fact.odd);
      if (!odd.length)
        return;
      const [{ at, fact }] = odd;
      const others2 = odd.slice(1, MOST_ODD).map(({ fact: one2 }) => `${placeName(one2)}, ${linesOf([one2.line])}: ${one2.odd}`);
      const more = odd.length > MOST_ODD ? [`and ${odd.length - MOST_ODD} more`] : [];
      items.push(item(
        `Odd value: ${placeName(fact)}, ${linesOf([fact.line])}, ${fact.odd}`,
        ["It is the first one; what is made of it is odd as well.", ...others2, ...more].join("\n"),
        () => go((step) => step.kind === "accesses" && step.launch === launch && step.from <= at && at < step.to)
      ));
    });
    return items.length ? h("section", { class: "st-findings", "aria-label": "What is wrong" }, ...items) : null;
  }
  function item(title, text, show) {
    const mark2 = h("span", { class: "st-bang-mark", "aria-hidden": "true" }, "!");
    return h(
      "div",
      { class: "st-finding" },
      h("details", {}, h("summary", {}, mark2, title), h("pre", { tabindex: "0", "aria-label": title }, text)),
      h(
        "button",
        { type: "button", class: "st-button", click: show, "aria-label": `Show the step: ${title}` },
        "Show the step"
      )
    );
  }
  function causeText(trace) {
    const cause = trace.failure?.cause;
    if (!cause)
      return "";
    const compared = cause.expected ? `got ${cause.actual}, expected ${cause.expected}` : "";
    return [cause.headline, cause.expected ? "" : cause.actual, compared, cause.rationale, ...cause.details].filter(Boolean).join("\n");
  }
  function notesView(trace) {
    const notes = [...trace.notes, ...trace.launches.flatMap((launch) => launch.notes)];
    const parts = [];
    if (notes.length)
      parts.push(h("ul", {}, ...notes.map((note) => h("li", {}, note))));
    if (trace.printed.trim())
      parts.push(h("p", {}, "The program printed:"), h("pre", { tabindex: "0", "aria-label": "Printed" }, trace.printed));
    return parts.length ? h("details", { class: "st-details" }, h("summary", {}, "Remarks"), ...parts) : null;
  }

  // src/help.ts
  var KEYS = [
    ["← →", "the step before, the next one"],
    ["↑ ↓", "coarser, finer steps"],
    ["Home End", "the first step, the last one"],
    ["p", "predict first, on or off; 1 to 4 answer"],
    ["t", "choose a thread; Escape: all again"],
    ["?", "this help"]
  ];
  var SIGNS = [
    ["3…5+5", "what a place sums up: x3 + x4 + x5, and x5 once more; id is the identity"],
    ["t5 above", "thread 5 writes this place; a dot: its value is a sum; lines lead there from what was added"],
    ["t5 below", "thread 5 reads this place"],
    ["old", "memory that no thread has written was copied; ?: no sum of inputs"],
    ["≠", "an odd value: an input twice, left out or out of order, or no sum of inputs"],
    ["!", "a race: two threads touch the place, one of them writes, and nothing orders them"]
  ];
  function helpDialog() {
    const id = newId();
    const table = (rows) => h("dl", { class: "st-keys" }, ...rows.flatMap(([key2, text]) => [h("dt", {}, key2), h("dd", {}, text)]));
    const dialog = h(
      "dialog",
      { class: "st-help", "aria-labelledby": id },
      h("p", { class: "st-title", id }, "Keys and signs"),
      table(KEYS),
      table(SIGNS),
      h("p", {}, "A click on a place shows its history, a click on a thread shows what that thread does."),
      h("form", { method: "dialog" }, h("button", { class: "st-button" }, "Close"))
    );
    return dialog;
  }

  // src/view.ts
  function viewOf(trace, courses, steps, index, chosen) {
    const step = steps[index];
    const course = courses[step.launch];
    const [before, after] = [course.memory(step.from), course.memory(step.to)];
    const marks = step.finding ? marksOfRace(trace, course, step.finding) : course.accesses.slice(step.from, step.to).map((access) => markOf(access, Boolean(access.fact.race)));
    return { trace, courses, course, steps, index, step, before, after, marks, ...chosen };
  }
  function markOf(access, race) {
    const { thread, array, element, line, text } = access.fact;
    return {
      kind: access.kind,
      thread,
      array,
      element,
      line,
      text,
      race,
      write: isWrite(access) ? access.fact : void 0
    };
  }
  function marksOfRace(trace, course, finding) {
    const race = racesOf(trace, course).find((one2) => one2.finding === finding);
    if (race?.pair)
      return race.pair.map((access) => markOf(access, true));
    return finding.parts.map((part) => ({
      kind: part.does === "read" ? "read" : "write",
      thread: part.thread?.[0] ?? -1,
      array: finding.variable,
      element: finding.element ?? 0,
      line: part.line,
      text: "",
      race: true
    }));
  }
  function isChosen(view, mark2) {
    return view.thread === null || view.thread === mark2.thread;
  }

  // src/sentences.ts
  function whereOf(view) {
    const { step, course } = view;
    const launch = view.courses.length > 1 ? `Launch ${course.launch.number}, ${course.launch.kernel}: ` : "";
    const interval = course.launch.intervals[step.interval];
    if (step.kind === "before")
      return `${launch}before the kernel`;
    if (step.kind === "failure")
      return "The end";
    if (!interval)
      return `${launch}a race`;
    const begins = interval.begins?.line ? ` (line ${interval.begins.line})` : "";
    const none = course.launch.intervals.some((one2) => one2.barriers) ? "before the first barrier" : "in the kernel";
    const barrier = interval.barriers ? `after barrier ${interval.barriers}${begins}` : none;
    const syncs = interval.warp_syncs ? `, warp sync ${interval.warp_syncs}` : "";
    return `${launch}${barrier}${syncs}`;
  }
  function whatOf(view) {
    const { step, course, trace } = view;
    const marks = view.marks.filter((mark2) => isChosen(view, mark2));
    if (step.kind === "before") {
      const arrays = course.launch.before.map((row) => row.array);
      const stands = arrays.length ? `${listed(arrays)} ${arrays.length > 1 ? "hold" : "holds"} what stood there before.` : "";
      return `${course.launch.kernel} begins. ${capital(stands)}`.trim();
    }
    if (step.kind === "failure") {
      const cause = trace.failure?.cause;
      const line = cause?.where?.line ? ` in line ${cause.where.line}` : "";
      return `The run ends here${line}: ${cause?.actual || cause?.rationale || "it did not end well"}.`;
    }
    if (step.kind === "race")
      return raceSentence(view);
    if (!marks.length)
      return view.thread === null ? "Nothing." : `Thread ${view.thread} reads and writes nothing here.`;
    if (view.level === "barrier")
      return capital(byKind(marks));
    const threads = new Set(marks.map((mark2) => mark2.thread));
    if (threads.size === 1)
      return `${capital(marks.map(one).join("; "))}.`;
    const warps = new Set([...threads].map((thread) => Math.floor(thread / WARP)));
    return `${capital(named("warp", warps))}: ${byKind(marks)}`;
  }
  function byKind(marks) {
    const found = [];
    for (const kind of ["read", "write"]) {
      const groups = /* @__PURE__ */ new Map();
      for (const mark2 of marks)
        if (mark2.kind === kind)
          groups.set(mark2.array, [...groups.get(mark2.array) ?? [], mark2]);
      for (const [array, own] of groups) {
        const threads = new Set(own.map((mark2) => mark2.thread));
        const sums = own.filter((mark2) => mark2.write?.adds).length;
        const verb = threads.size === 1 ? `${kind}s` : kind;
        found.push(
          `${named("thread", threads)} ${verb} ${array}, in ${linesOf(own.map((mark2) => mark2.line))}` + (sums ? ` (${counted(sums, "sum")})` : "")
        );
      }
    }
    const odd = marks.find((mark2) => mark2.write?.odd);
    return `${found.join("; ")}.${odd ? ` ${placeName(odd)} is odd: ${odd.write?.odd}.` : ""}`;
  }
  function one(mark2) {
    const place = placeName(mark2);
    return mark2.kind === "read" ? `thread ${mark2.thread} reads ${place} in ${linesOf([mark2.line])} and finds ${mark2.text}` : `thread ${mark2.thread} writes ${mark2.text} to ${place} in ${linesOf([mark2.line])}${from(mark2.write)}${mark2.write?.odd ? ` (odd: ${mark2.write.odd})` : ""}`;
  }
  function from(write) {
    if (!write)
      return "";
    if (!write.sources.length)
      return write.runs?.length ? ", from registers" : "";
    return `: ${sum(write.sources)}`;
  }
  function raceSentence(view) {
    const finding = view.step.finding;
    if (!finding)
      return "";
    const [first, second] = view.marks;
    const does = (mark2) => {
      const who = mark2.thread < 0 ? "a thread" : `thread ${mark2.thread}`;
      return `${who} ${mark2.kind}s ${placeName(mark2)} in ${linesOf([mark2.line])}`;
    };
    return `Race (${finding.kind}): ${does(first)}, ${does(second)}; ${finding.advice || "nothing orders them"}.`;
  }

  // src/history_view.ts
  var HistoryView = class {
    constructor(go) {
      this.go = go;
    }
    element = h("section", { class: "st-history", hidden: true });
    show(view) {
      const { place, course, steps } = view;
      this.element.hidden = place === null;
      if (place === null)
        return;
      const items = [];
      const first = course.memory(0).get(place);
      if (first)
        items.push(h("li", {}, h("b", {}, first.text), " stood there before the kernel"));
      for (const access of course.accesses) {
        const { fact } = access;
        if (!isWrite(access) || key(fact.array, fact.element) !== place)
          continue;
        const index = steps.findIndex(
          (step2) => step2.launch === view.step.launch && step2.kind === "accesses" && step2.from <= access.at && access.at < step2.to
        );
        const text = [
          h("b", {}, fact.text),
          ` by thread ${fact.thread}, ${linesOf([fact.line])}${from(access.fact)}${fact.race ? " (race)" : ""}`
        ];
        const step = index < 0 ? null : h("button", { type: "button", class: "st-link", click: () => this.go(index) }, `step ${index}`);
        items.push(h("li", { class: index === view.index ? "is-now" : "" }, ...text, step ? " " : null, step));
      }
      const list = items.length ? h("ol", {}, ...items) : h("p", { class: "st-small" }, "Nothing has been written here.");
      this.element.replaceChildren(h("p", { class: "st-title" }, `What ${place} held`), list);
    }
  };

  // src/keyboard.ts
  function listen(target, keys) {
    const heard = (event) => {
      if (event instanceof KeyboardEvent && !event.ctrlKey && !event.metaKey && !event.altKey && take(event, keys))
        event.preventDefault();
    };
    target.addEventListener("keydown", heard);
    return () => target.removeEventListener("keydown", heard);
  }
  function take(event, keys) {
    const focused = event.target instanceof HTMLElement ? event.target : document.body;
    if (focused.closest("dialog, select, input[type=text], textarea"))
      return false;
    const is_arrow = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
    if (is_arrow && (focused.matches("input[type=radio]") || scrolls(focused, event.key)))
      return false;
    if (/^[1-4]$/.test(event.key))
      return keys.answer(Number(event.key));
    const found = {
      ArrowRight: keys.next,
      ArrowLeft: keys.previous,
      ArrowDown: keys.finer,
      ArrowUp: keys.coarser,
      Home: keys.first,
      End: keys.last,
      p: keys.predict,
      t: keys.thread,
      Escape: keys.everything,
      "?": keys.help
    };
    const action = Object.hasOwn(found, event.key) ? found[event.key] : void 0;
    action?.();
    return action !== void 0;
  }
  function scrolls(focused, key2) {
    if (focused.tabIndex < 0 || !focused.matches("[role=group]:focus-visible, pre:focus-visible"))
      return false;
    const is_across = key2 === "ArrowLeft" || key2 === "ArrowRight";
    return is_across ? focused.scrollWidth > focused.clientWidth + 1 : focused.scrollHeight > focused.clientHeight + 1;
  }

  // src/geometry.ts
  var NAME = 24;
  var CELL = 36;
  var CHIP = 17;
  var STEM = 11;
  var GAP = 18;
  var PAD = 4;
  var MOST_CHIPS = 2;
  var NARROWEST = 40;
  var WIDEST = 66;
  var LETTER = 5.6;
  var COMMON_COLUMNS = 40;
  var FEW = 4;
  function chipsOf(threads) {
    const sorted = [...new Set(threads)].sort((a, b) => a - b);
    return sorted.length <= MOST_CHIPS ? sorted.map((thread) => [thread]) : [sorted];
  }
  function arcHeight(columns) {
    return 10 + 4 * Math.min(Math.abs(columns), 8);
  }
  function extentsOf(view) {
    const found = /* @__PURE__ */ new Map();
    const of = (array) => {
      const extent = found.get(array) ?? { readers: 0, is_written: false, arc: 0 };
      found.set(array, extent);
      return extent;
    };
    const { course, level } = view;
    for (const step of stepsOf({ ...view.trace, races: [], failure: null }, [course], level, null)) {
      const readers = /* @__PURE__ */ new Map();
      for (const { kind, fact } of course.accesses.slice(step.from, step.to)) {
        const extent = of(fact.array);
        if (kind === "read") {
          const at = key(fact.array, fact.element);
          readers.set(at, [...readers.get(at) ?? [], fact.thread]);
          extent.readers = Math.max(extent.readers, chipsOf(readers.get(at) ?? []).length);
        } else {
          extent.is_written = true;
          if ("sources" in fact) {
            for (const source of fact.sources)
              if (source.array === fact.array && source.element !== fact.element)
                extent.arc = Math.max(extent.arc, arcHeight(source.element - fact.element));
          }
        }
      }
    }
    return found;
  }
  function ordered(course) {
    const written = new Set([...course.writes.values()].map((access) => access.fact.array));
    const rank = (array) => array.space === "shared" ? 1 : written.has(array.name) ? 2 : 0;
    return course.launch.arrays.filter((array) => array.first !== null).sort((a, b) => rank(a) - rank(b));
  }
  function others(launch, marks) {
    const found = /* @__PURE__ */ new Map();
    for (const { array, element } of marks) {
      const facts = launch.arrays.find((one2) => one2.name === array);
      const is_shown = facts && facts.first !== null && facts.last !== null && element >= facts.first && element <= facts.last;
      if (!is_shown)
        found.set(key(array, element), {
          name: array,
          space: facts?.space ?? "global",
          holds: "elements",
          size: facts?.size ?? 0,
          first: element,
          last: element
        });
    }
    return [...found.values()];
  }
  function layoutOf(view, extents, room) {
    const is_race = view.step.kind === "race";
    const raced = new Set(view.marks.map((mark2) => mark2.array));
    const shown = ordered(view.course);
    const least = Math.min(...shown.map((array) => array.first ?? 0));
    const is_common = Math.max(...shown.map((array) => array.last ?? 0)) - least < COMMON_COLUMNS;
    const columnOf = (array) => is_common && !isSmall(array) ? (array.first ?? 0) - least : 0;
    const columns = Math.max(1, ...shown.map((array) => columnOf(array) + count(array)));
    const narrowest = Math.max(NARROWEST, Math.min(WIDEST, 10 + LETTER * longest(view.course)));
    const cell = Math.max(narrowest, Math.min(WIDEST, Math.floor((room - 2 * PAD) / columns)));
    const apart = is_race ? others(view.course.launch, view.marks) : [];
    const arrays = is_race ? [...apart, ...shown.filter((array) => raced.has(array.name))] : shown;
    const rows = [];
    let y = 0, right = 0;
    for (const band of bandsOf(arrays, apart, cell, room)) {
      const own = band.map((array) => extents.get(array.name) ?? { readers: 1, is_written: true, arc: 0 });
      const most = {
        readers: Math.max(...own.map((extent) => extent.readers)),
        is_written: own.some((extent) => extent.is_written),
        arc: Math.max(...own.map((extent) => is_race ? 0 : extent.arc))
      };
      const cells = y + NAME + most.arc + (most.is_written ? CHIP + STEM + 6 : STEM);
      const bottom = cells + CELL + (most.readers ? STEM + most.readers * (CHIP + 2) : 0);
      let left = PAD;
      for (const array of band) {
        const begins = left + (band.length > 1 || apart.includes(array) ? 0 : columnOf(array) * cell);
        rows.push({ array, first: array.first ?? 0, last: array.last ?? 0, left: begins, top: y, cells, bottom });
        left += widthOf(array, cell);
        right = Math.max(right, begins + count(array) * cell, band.length > 1 ? left : 0);
      }
      y = bottom + GAP;
    }
    return { width: right + PAD, height: Math.max(y - GAP + 6, 40), cell, rows };
  }
  function longest(course) {
    return Math.max(0, ...course.accesses.map((access) => access.fact.text.length));
  }
  function bandsOf(arrays, apart, cell, room) {
    const bands = [];
    for (const array of arrays) {
      const last = bands[bands.length - 1];
      const used = last?.reduce((sum2, one2) => sum2 + widthOf(one2, cell), 0) ?? 0;
      const fits2 = used + widthOf(array, cell) <= room && last?.every(isSmall) && isSmall(array);
      if (last && fits2 && !apart.includes(array) && !apart.includes(last[0]))
        last.push(array);
      else
        bands.push([array]);
    }
    return bands;
  }
  function count(array) {
    return (array.last ?? 0) - (array.first ?? 0) + 1;
  }
  function isSmall(array) {
    return count(array) <= FEW && array.space === "shared";
  }
  function widthOf(array, cell) {
    return Math.max(count(array) * cell, array.name.length * 8 + 150) + 16;
  }

  // src/memory_view.ts
  var MemoryView = class {
    constructor(choose) {
      this.choose = choose;
      this.element = document.createElement("div");
      this.element.className = "st-memory";
      this.element.tabIndex = 0;
      this.element.setAttribute("role", "group");
      this.element.setAttribute("aria-label", "Arrays");
      this.element.addEventListener("click", (event) => {
        const chip = event.target.closest("[data-thread]");
        const cell = event.target.closest("[data-place]");
        if (chip)
          this.choose({ thread: Number(chip.dataset.thread) });
        else if (cell)
          this.choose({ place: cell.dataset.place });
      });
    }
    element;
    extents = /* @__PURE__ */ new Map();
    show(view, caption) {
      const id = `${view.step.launch} ${view.level}`;
      const extents = this.extents.get(id) ?? extentsOf(view);
      this.extents.set(id, extents);
      const layout = layoutOf(view, extents, this.element.clientWidth || 640);
      const picture = svg("svg", {
        role: "img",
        "aria-label": caption,
        width: layout.width,
        height: layout.height,
        viewBox: `0 0 ${layout.width} ${layout.height}`
      });
      const drawing = new Drawing(view, layout);
      picture.append(...drawing.wires(), ...layout.rows.flatMap((row) => drawing.row(row)));
      const { scrollLeft } = this.element;
      this.element.replaceChildren(picture);
      if (!layout.rows.length)
        this.element.replaceChildren("Nothing of this kernel's memory can be drawn.");
      this.element.scrollLeft = scrollLeft;
    }
  };
  var Drawing = class {
    constructor(view, layout) {
      this.view = view;
      this.layout = layout;
      for (const mark2 of view.marks) {
        const marks = mark2.kind === "read" ? this.readers : this.writers;
        const at = key(mark2.array, mark2.element);
        marks.set(at, [...marks.get(at) ?? [], mark2]);
      }
    }
    readers = /* @__PURE__ */ new Map();
    writers = /* @__PURE__ */ new Map();
    row(row) {
      const { array, first, last } = row;
      const shown = last - first + 1;
      const all = array.size.toLocaleString("en");
      const of = array.size > shown ? shown === 1 ? `place ${first} of ${all}` : `${shown} of ${all} places` : counted(shown, "place");
      const name = svg("text", { class: "st-name", x: row.left, y: row.top + 15 }, array.name);
      name.append(svg("tspan", { class: "st-muted", dx: 8 }, `${array.space}, ${of}`));
      const parts = [name];
      for (let element = first; element <= last; ++element)
        parts.push(...this.cell(row, element));
      return parts;
    }
    x(row, element) {
      return row.left + (element - row.first + 0.5) * this.layout.cell;
    }
    cell(row, element) {
      const { view } = this;
      const at = key(row.array.name, element);
      const now = view.after.get(at), old = view.before.get(at);
      const writers = this.writers.get(at) ?? [], readers = this.readers.get(at) ?? [];
      const race = [...writers, ...readers].some((mark2) => mark2.race);
      const width = this.layout.cell - 5, x = this.x(row, element), left = x - width / 2;
      const states = [
        "st-cell",
        !now && "is-empty",
        readers.length > 0 && "is-read",
        writers.length > 0 && "is-written",
        race && "is-race",
        now?.write?.odd && "is-odd",
        view.place === at && "is-chosen",
        view.thread !== null && ![...writers, ...readers].some((mark2) => isChosen(view, mark2)) && "is-faint"
      ];
      const group = svg("g", { class: states.filter(Boolean).join(" "), "data-place": at });
      group.append(
        svg("title", {}, `${at}: ${now ? now.text : "not written yet"}${now?.write?.odd ? `, ${now.write.odd}` : ""}`),
        svg("rect", { x: left, y: row.cells, width, height: CELL, rx: 5 }),
        svg("text", { class: "st-index", x: left + 1, y: row.cells - 3 }, `${element}`)
      );
      const is_apart = view.step.kind === "race" && !now;
      const text = now?.text ?? "";
      const is_new = writers.length > 0 && old !== void 0 && old.text !== text;
      const y = row.cells + CELL / 2 + (is_new ? 10 : 4.5);
      group.append(
        svg("text", { class: "st-value", x, y, "font-size": fitting(text, width) }, text || (is_apart ? "" : "·"))
      );
      if (is_new)
        group.append(
          svg(
            "text",
            { class: "st-old", x, y: row.cells + 12, "font-size": Math.min(9.5, fitting(old.text, width)) },
            old.text
          )
        );
      const sign = race ? "!" : now?.write?.odd ? "≠" : "";
      if (sign)
        group.append(svg("text", { class: "st-bang", x: left + 4 + 5.5 * `${element}`.length, y: row.cells - 2.5 }, sign));
      return [group, ...this.writing(x, row.cells, writers), ...this.reading(x, row.cells + CELL, readers)];
    }
    writing(x, bottom, marks) {
      if (!marks.length)
        return [];
      const top = bottom - STEM - CHIP;
      const parts = [this.arrow(x, top + CHIP, bottom, marks, "write"), this.chip(x, top, marks, "write")];
      if (marks.some((mark2) => mark2.write?.adds))
        parts.push(svg("circle", { class: `st-adds${this.states(marks)}`, cx: x, cy: top - 3.5, r: 3.5 }));
      return parts;
    }
    reading(x, top, marks) {
      if (!marks.length)
        return [];
      const chips = chipsOf(marks.map((mark2) => mark2.thread));
      const parts = [this.arrow(x, top, top + STEM, marks, "read")];
      chips.forEach((threads, at) => {
        const own = marks.filter((mark2) => threads.includes(mark2.thread));
        parts.push(this.chip(x, top + STEM + at * (CHIP + 2), own, "read"));
      });
      return parts;
    }
    chip(x, top, marks, kind) {
      const threads = [...new Set(marks.map((mark2) => mark2.thread))];
      const text = chipText(threads);
      const width = Math.min(this.layout.cell - 4, 10 + 6.2 * text.length);
      const group = svg("g", { class: `st-chip is-${kind}${this.states(marks)}`, "data-thread": threads[0] });
      const lines = linesOf(marks.map((mark2) => mark2.line));
      const says2 = this.view.step.kind === "race" ? `${kind}s, ${lines}` : "";
      group.append(
        svg("title", {}, `${named("thread", threads)} ${kind}${threads.length === 1 ? "s" : ""}, ${lines}`),
        svg("rect", { x: x - width / 2, y: top, width, height: CHIP, rx: CHIP / 2 }),
        svg("text", { x, y: top + 12.2, "font-size": text.length > 6 ? 8.5 : 10.5 }, text),
        says2 && svg("text", { class: "st-says", x: x + width / 2 + 6, y: top + 12.5 }, says2)
      );
      return group;
    }
    arrow(x, from2, to, marks, kind) {
      const d = `M${x} ${from2} V${to - 1} M${x - 3.5} ${to - 5} L${x} ${to - 0.5} L${x + 3.5} ${to - 5}`;
      return svg("path", { class: `st-arrow is-${kind}${this.states(marks)}`, d });
    }
    states(marks) {
      const is_chosen = marks.some((mark2) => isChosen(this.view, mark2));
      return (marks.some((mark2) => mark2.race) ? " is-race" : "") + (is_chosen ? "" : " is-faint");
    }
    /** From where each value that is written in this step has come. */
    wires() {
      if (this.view.step.kind === "race")
        return [];
      const found = [];
      const rows = new Map(this.layout.rows.map((row) => [row.array.name, row]));
      for (const marks of this.writers.values()) {
        const mark2 = marks[marks.length - 1], to = rows.get(mark2.array), write = mark2.write;
        if (!to || !write)
          continue;
        for (const source of write.sources) {
          const from2 = rows.get(source.array);
          if (!from2 || source.element < from2.first || source.element > from2.last)
            continue;
          if (from2 === to && source.element === mark2.element)
            continue;
          const race = Boolean(source.race || write.race);
          const states = ["st-wire", write.adds && "is-sum", race && "is-race", !isChosen(this.view, mark2) && "is-faint"];
          const d = this.path(from2, source.element, to, mark2.element);
          found.push({
            path: svg("path", { class: states.filter(Boolean).join(" "), d }),
            rank: Number(race) * 2 + Number(write.adds)
          });
        }
      }
      return found.sort((a, b) => a.rank - b.rank).map(({ path }) => path);
    }
    path(from2, source, to, target) {
      const xs = this.x(from2, source), xt = this.x(to, target);
      const chip = to.cells - STEM - CHIP - 4;
      if (from2 === to) {
        const side = Math.sign(xt - xs), x1 = xs + side * (this.layout.cell / 2 - 7), high = chip - arcHeight(target - source);
        return `M${x1} ${from2.cells} C${x1} ${high} ${xt - side * 4} ${high} ${xt} ${chip}`;
      }
      const below = this.under(from2, source);
      if (from2.cells < to.cells) {
        const bend2 = Math.max(14, (chip - below) * 0.5);
        return `M${xs} ${below} C${xs} ${below + bend2} ${xt} ${chip - bend2} ${xt} ${chip}`;
      }
      const start = from2.cells, end = this.under(to, target), bend = Math.max(14, (start - end) * 0.5);
      return `M${xs} ${start} C${xs} ${start - bend} ${xt} ${end + bend} ${xt} ${end}`;
    }
    /** The lower end of a cell with those who read it. */
    under(row, element) {
      const readers = this.readers.get(key(row.array.name, element)) ?? [];
      const chips = chipsOf(readers.map((mark2) => mark2.thread)).length;
      return row.cells + CELL + (readers.length ? STEM + chips * (CHIP + 2) - 2 : 0);
    }
  };
  function chipText(threads) {
    if (threads[0] < 0)
      return "t ?";
    if (threads.length === 1)
      return `t${threads[0]}`;
    const runs = runsOf(threads);
    return runs.length === 1 ? `t${runs[0][0]}–${runs[0][1]}` : `${threads.length} t`;
  }
  function fitting(text, width) {
    return Math.max(6.5, Math.min(13, (width - 4) / (0.61 * Math.max(text.length, 1))));
  }

  // src/question.ts
  var ANSWERS = 4;
  function questionOf(course, step) {
    if (step.kind !== "accesses")
      return null;
    const last = /* @__PURE__ */ new Map();
    for (const access of course.accesses.slice(step.from, step.to))
      if (isWrite(access))
        last.set(key(access.fact.array, access.fact.element), access.fact);
    const before = course.memory(step.from);
    const asked = [...last].filter(([, write2]) => write2.adds && isPlain(write2.text) && write2.sources.length > 0);
    const changed = asked.filter(([place2, write2]) => before.get(place2)?.text !== write2.text);
    if (!changed.length)
      return null;
    const [place, write] = changed[(step.from * 7 + 3) % changed.length];
    return { place, write, answers: answersOf(course, write, before.get(place)?.text) };
  }
  function isPlain(text) {
    return /\d$/.test(text) || text === "id";
  }
  function answersOf(course, write, old) {
    const right = write.text;
    const found = /* @__PURE__ */ new Set();
    const add = (text) => {
      if (text !== void 0 && text !== right && isPlain(text) && found.size < ANSWERS - 1)
        found.add(text);
    };
    for (const source of write.sources)
      add(source.write === null ? void 0 : course.writes.get(source.write)?.fact.text);
    if (write.runs?.length === 1) {
      const [first, last] = write.runs[0];
      add(run(first + 1, last));
      add(run(Math.max(0, first - 1), last));
      add(`${run(first, last)}+${last}`);
      add(run(first, last + 1));
    }
    add(old);
    const number = Number(right);
    for (let k = 1; found.size < ANSWERS - 1 && k < 9; ++k)
      add(Number.isNaN(number) ? `${k}` : `${number + k}`);
    const answers = [...found];
    answers.splice((write.id * 5 + write.thread) % (answers.length + 1), 0, right);
    return answers;
  }
  function run(first, last) {
    return first >= last ? `${last}` : `${first}…${last}`;
  }
  function normal(answer) {
    const plain = answer.toLowerCase().replace(/\s*(\.{2,3}|…|–|-|\bto\b)\s*/g, "…").replace(/[x\s]/g, "");
    const parts = plain.split("+").map((part) => {
      const [first, last] = part.split("…");
      return last !== void 0 && first === last ? first : part;
    });
    return parts.join("+").replace(/^identity$/, "id");
  }

  // src/predict.ts
  var PredictView = class {
    /** `goOn` shows the step that was asked about. */
    constructor(goOn) {
      this.goOn = goOn;
      this.element.append(this.live, this.form);
    }
    element = h("section", { class: "st-predict", hidden: true, "aria-label": "Predict first" });
    live = h("div", { "aria-live": "polite" });
    form = h("div", { class: "st-answers" });
    question = null;
    right = 0;
    asked = 0;
    get isOpen() {
      return this.question !== null;
    }
    ask(question) {
      this.question = question;
      this.element.hidden = false;
      const before = h("p", { class: "st-question" }, "What will ", h("b", {}, question.place), " hold after the next step?");
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
          submit: (event) => {
            event.preventDefault();
            if (input.value.trim())
              this.answer(input.value);
          }
        },
        input,
        h("button", { type: "submit", class: "st-button" }, "Check")
      );
      const choices = question.answers.map(
        (text, at) => h(
          "button",
          { type: "button", class: "st-button st-answer", click: () => this.answer(text) },
          h("span", { class: "st-key", "aria-hidden": "true" }, `${at + 1}`),
          text
        )
      );
      this.form.replaceChildren(
        ...choices,
        own,
        h("button", { type: "button", class: "st-link", click: () => this.goOn() }, "show it")
      );
    }
    /** Takes the answer with this number, from 1. */
    choose(number) {
      const text = this.question?.answers[number - 1];
      if (text !== void 0)
        this.answer(text);
    }
    answer(text) {
      const { question } = this;
      if (!question)
        return;
      const { write, place } = question;
      const is_right = normal(text) === normal(write.text);
      this.asked += 1;
      this.right += Number(is_right);
      this.goOn();
      this.element.hidden = false;
      const why = `thread ${write.thread} writes it in ${linesOf([write.line])}${from(write)}.`;
      this.live.replaceChildren(
        h(
          "p",
          { class: `st-question ${is_right ? "is-right" : "is-wrong"}` },
          h("b", {}, is_right ? "✓ Right: " : "✗ No: "),
          `${place} holds `,
          h("b", {}, write.text),
          is_right ? "; " : `, not ${text.trim().slice(0, 40)}; `,
          why
        ),
        this.score()
      );
    }
    score() {
      return h(
        "p",
        { class: "st-small" },
        this.asked ? `${this.right} of ${this.asked} right` : "Choose, type it (3…5 is x3 + x4 + x5), or press 1 to 4."
      );
    }
    /** Takes question and answer away. */
    close() {
      this.question = null;
      this.element.hidden = true;
      this.live.replaceChildren();
      this.form.replaceChildren();
    }
  };

  // src/tokens.ts
  var WORDS = new Set(`
  alignas auto bool break case char class const constexpr continue default delete do double else enum
  extern false float for goto if inline int long namespace new nullptr operator private public
  reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template
  this true typedef typename union unsigned using void volatile while __global__ __device__ __host__
  __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__`.trim().split(/\s+/));
  var TOKEN = /\/\/.*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[A-Za-z_]\w*|\.?\d[\w.']*|\s+|./g;
  var LONGEST = 1e5;
  function coloured(text) {
    const lines = [[]];
    const add = (kind, word) => word.split("\n").forEach((piece, at) => {
      if (at)
        lines.push([]);
      const line = lines[lines.length - 1], last = line[line.length - 1];
      if (piece && last?.[0] === kind)
        last[1] += piece;
      else if (piece)
        line.push([kind, piece]);
    });
    if (text.length > LONGEST)
      add("", text);
    else
      for (const [word] of text.matchAll(TOKEN))
        add(kindOf(word, lines[lines.length - 1]), word);
    if (lines.length > 1 && !lines[lines.length - 1].length)
      lines.pop();
    return lines;
  }
  function kindOf(word, line) {
    if (word.startsWith("//") || word.startsWith("/*"))
      return "c";
    if (line.some(([kind]) => kind === "p") || word === "#" && line.every(([, piece]) => !piece.trim()))
      return "p";
    if (word[0] === '"' || word[0] === "'")
      return "s";
    if (/^\.?\d/.test(word))
      return "m";
    return WORDS.has(word) ? "k" : "";
  }

  // src/source_view.ts
  var SIGNS2 = {
    read: ["r", "reads"],
    write: ["w", "writes"],
    both: ["rw", "reads and writes"],
    barrier: ["▬", "barrier"],
    race: ["!", "race"]
  };
  var SourceView = class {
    element;
    lines = [];
    signs = [];
    constructor(trace, source) {
      const list = h("ol", { class: "st-lines" });
      const notes = notesOf(trace);
      coloured(source).forEach((pieces, at) => {
        const sign = h("span", { class: "st-sign" });
        const code = h("code", {}, ...pieces.map(([kind, text]) => kind ? h("span", { class: `st-${kind}` }, text) : text));
        const line = h("li", { class: "st-line" }, h("span", { class: "st-number", "aria-hidden": "true" }, `${at + 1}`), sign, code);
        for (const note of notes.get(at + 1) ?? [])
          line.append(h("span", { class: "st-note" }, h("span", {}, note)));
        this.lines.push(line);
        this.signs.push(sign);
        list.append(line);
      });
      this.element = h("div", { class: "st-source", tabindex: "0", role: "group", "aria-label": `Source, ${trace.source}` }, list);
    }
    show(view) {
      const roles = rolesOf(view);
      const strong = view.thread === null ? null : new Set(view.marks.filter((m) => m.thread === view.thread).map((m) => m.line));
      this.lines.forEach((line, at) => {
        const role = roles.get(at + 1);
        line.className = `st-line${role ? ` is-${role}` : ""}${role && strong && !strong.has(at + 1) ? " is-faint" : ""}`;
        if (role)
          line.setAttribute("aria-current", "step");
        else
          line.removeAttribute("aria-current");
        this.signs[at].textContent = role ? SIGNS2[role][0] : "";
        this.signs[at].title = role ? SIGNS2[role][1] : "";
      });
      const busy = [...roles].filter(([, role]) => role !== "barrier").map(([line]) => line);
      const kernel = this.lines.findIndex((line) => line.textContent?.includes(`${view.course.launch.kernel}(`));
      this.scrollTo(busy.length || view.step.kind !== "before" ? busy : [kernel + 1]);
    }
    /** Scrolls the file alone, never the page. */
    scrollTo(numbers) {
      if (!numbers.length)
        return;
      const [first, last] = [this.lines[Math.min(...numbers) - 1], this.lines[Math.max(...numbers) - 1]];
      if (!first || !last)
        return;
      const top = first.offsetTop, bottom = last.offsetTop + last.offsetHeight, room = this.element.clientHeight;
      const { scrollTop } = this.element;
      if (top < scrollTop + 8 || bottom > scrollTop + room - 8)
        this.element.scrollTop = Math.max(0, Math.min((top + bottom - room) / 2, top - 24));
    }
  };
  function rolesOf(view) {
    const roles = /* @__PURE__ */ new Map();
    const add = (line, role) => {
      const before = roles.get(line);
      roles.set(line, before && before !== role && before !== "race" ? "both" : role);
    };
    const { step, course, trace } = view;
    if (step.kind === "failure") {
      const line = trace.failure?.cause.where?.line;
      if (line)
        roles.set(line, "race");
      return roles;
    }
    if (step.kind === "race") {
      for (const mark2 of view.marks)
        roles.set(mark2.line, "race");
      return roles;
    }
    for (const mark2 of view.marks)
      add(mark2.line, mark2.kind);
    for (const one2 of course.instructions(step, view.level))
      add(one2.line, one2.does === "atomic" ? "both" : one2.does);
    const begins = course.launch.intervals[step.interval]?.begins?.line;
    if (begins && view.level === "barrier" && !roles.has(begins))
      roles.set(begins, "barrier");
    roles.delete(0);
    return roles;
  }
  function notesOf(trace) {
    const notes = /* @__PURE__ */ new Map();
    const add = (line, text, number) => {
      const own = notes.get(line) ?? /* @__PURE__ */ new Map();
      notes.set(line, own.set(text, [...own.get(text) ?? [], ...number ? [number] : []]));
    };
    trace.races.forEach(
      (race, at) => race.parts.forEach((part, k) => {
        const other = race.parts[1 - k];
        const meets = other && other.line !== part.line ? ` meets line ${other.line}` : "";
        add(part.line, `this ${part.does} of ${race.variable}${meets}`, at + 1);
      })
    );
    const cause = trace.failure?.cause;
    if (cause?.where)
      add(cause.where.line, cause.actual || cause.rationale);
    const shown = ([text, numbers]) => `! ${numbers.length ? `${named("race", numbers)}: ` : ""}${text}`;
    return new Map([...notes].map(([line, texts]) => [line, [...texts].map(shown)]));
  }

  // src/table_view.ts
  var MOST_ROWS2 = 200;
  var TableView = class {
    element;
    body = h("div", { class: "st-box", tabindex: "0", role: "group", "aria-label": "This step as a table" });
    constructor() {
      this.element = h("details", { class: "st-details" }, h("summary", {}, "This step as a table"), this.body);
    }
    show(view) {
      const marks = view.thread === null ? view.marks : view.marks.filter((mark2) => mark2.thread === view.thread);
      const rows = marks.slice(0, MOST_ROWS2).map(
        (mark2) => h(
          "tr",
          {},
          h("td", { class: "st-num" }, mark2.thread < 0 ? "?" : `${mark2.thread}`),
          h("td", { class: "st-num" }, `${mark2.line || "?"}`),
          h("td", {}, `${mark2.race ? "! race: " : ""}${mark2.kind}s`),
          h("td", {}, placeName(mark2)),
          h("td", {}, mark2.text),
          h(
            "td",
            {},
            mark2.kind === "write" ? view.before.get(key(mark2.array, mark2.element))?.text ?? "nothing yet" : ""
          ),
          h("td", {}, mark2.write?.sources.map((source) => placeName(source)).join(" + ") ?? "")
        )
      );
      const head = ["thread", "line", "does", "place", "value", "it held", "made of"].map((text) => h("th", { scope: "col" }, text));
      const table = h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
      const more = marks.length > MOST_ROWS2 ? h("p", { class: "st-small" }, `and ${marks.length - MOST_ROWS2} more accesses`) : null;
      this.body.replaceChildren(
        rows.length ? table : h("p", { class: "st-small" }, "Nothing is read or written."),
        ...more ? [more] : []
      );
    }
  };

  // src/stepper.ts
  var Stepper = class {
    constructor(root, trace, source, options) {
      this.root = root;
      this.trace = trace;
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
        help: () => this.help.showModal()
      });
      this.source = new SourceView(trace, source);
      this.memory = new MemoryView(({ thread, place }) => {
        if (thread !== void 0)
          this.choose({ thread: thread === this.thread || thread < 0 ? null : thread });
        if (place !== void 0)
          this.choose({ place: place === this.place ? null : place });
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
        everything: () => this.choose({ thread: null, place: null }),
        help: () => this.help.showModal(),
        answer: (number) => {
          const { isOpen } = this.predict;
          this.predict.choose(number);
          return isOpen;
        }
      });
      this.show();
    }
    courses;
    level;
    steps = [];
    index = 0;
    thread = null;
    place = null;
    is_predicting;
    controls;
    source;
    memory;
    costs = new CostsView();
    table = new TableView();
    blocks = new BlocksView();
    history = new HistoryView((index) => this.go(index));
    predict;
    help = helpDialog();
    where = h("span", { class: "st-where" });
    what = h("span", {});
    watched;
    endKeys;
    /** Takes the component off the page. */
    destroy() {
      this.watched.disconnect();
      this.endKeys();
      this.root.replaceChildren();
      this.root.classList.remove("scanlab-stepper");
    }
    /** What is chosen now, for a stepper that takes this one's place. */
    get chosen() {
      return { level: this.level, step: this.index, predict: this.is_predicting };
    }
    go(index) {
      this.predict.close();
      this.index = Math.max(0, Math.min(index, this.steps.length - 1));
      this.show();
    }
    next() {
      const step = this.steps[this.index + 1];
      const question = this.is_predicting && step && !this.predict.isOpen ? questionOf(this.courses[step.launch], step) : null;
      if (question)
        this.predict.ask(question);
      else
        this.go(this.index + 1);
    }
    build(has_source) {
      const caption = h("p", { class: "st-caption", "aria-live": "polite" }, this.where, this.what);
      const findings = findingsView(this.trace, this.courses, (is) => {
        this.choose({ thread: null });
        this.go(this.steps.findIndex(is));
      });
      const notes = notesView(this.trace);
      const memory = h(
        "div",
        { class: "st-right" },
        caption,
        this.predict.element,
        this.memory.element,
        this.history.element,
        this.costs.element
      );
      this.root.classList.add("scanlab-stepper");
      this.root.replaceChildren(
        ...findings ? [findings] : [],
        this.controls.element,
        has_source ? h("div", { class: "st-panes" }, this.source.element, memory) : memory,
        this.blocks.element,
        this.table.element,
        ...notes ? [notes] : [],
        this.help
      );
    }
    /** Where barriers divide nothing, a step by barriers would show all at once. */
    firstLevel() {
      const intervals = this.courses.reduce((sum2, course) => sum2 + course.launch.intervals.length, 0);
      return intervals > this.courses.length ? "barrier" : "warp";
    }
    stepsNow() {
      return stepsOf(this.trace, this.courses, this.level, this.thread);
    }
    setLevel(level) {
      if (!level)
        return;
      this.level = level;
      this.remake();
    }
    choose(what) {
      if (what.thread !== void 0)
        this.thread = what.thread;
      if (what.place !== void 0)
        this.place = what.place;
      this.remake();
    }
    /** Makes the steps anew, and stays where it was: at the step that shows the same access. */
    remake() {
      const now = this.steps[this.index];
      if (!now)
        return;
      this.predict.close();
      this.steps = this.stepsNow();
      const same = this.steps.findIndex(
        (step) => step.launch === now.launch && step.kind === now.kind && step.finding === now.finding && step.to > now.from
      );
      const near = this.steps.findIndex((step) => step.launch === now.launch && step.to >= now.to);
      const other = this.steps.findIndex(
        (step) => step.kind === now.kind && step.launch === now.launch && step.finding === now.finding
      );
      this.index = now.kind !== "accesses" && other >= 0 ? other : same >= 0 ? same : near >= 0 ? near : this.steps.length - 1;
      this.show();
    }
    setPredicting(is_on) {
      this.is_predicting = is_on;
      this.predict.close();
      this.show();
    }
    show() {
      if (!this.steps.length) {
        this.what.textContent = this.courses.length ? `Block ${this.trace.block} has not run in these launches.` : "No kernel was launched.";
        return;
      }
      const view = viewOf(
        this.trace,
        this.courses,
        this.steps,
        this.index,
        { level: this.level, thread: this.thread, place: this.place }
      );
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
  };

  // src/index.ts
  function mount(element, trace, source, options = {}) {
    return new Stepper(element, trace, source, options);
  }
  return __toCommonJS(src_exports);
})();
