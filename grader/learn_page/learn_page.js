(() => {
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

  // ../learn_page/src/checks_view.ts
  var SIGNS = {
    pass: "✓",
    fail: "✗",
    timeout: "✗",
    error: "✗",
    inconclusive: "?"
  };
  var WIDTH = 120;
  var ChecksView = class {
    element = h("section", { class: "lp-section", id: "checks", "aria-label": "Checks", hidden: true });
    show(now) {
      const checks2 = now.result?.checks ?? [];
      this.element.hidden = !checks2.length;
      this.element.replaceChildren(
        h("h2", { class: "lp-title" }, "Checks and counts"),
        h(
          "div",
          { class: "st-box", tabindex: "0", role: "group", "aria-label": "Table of checks" },
          h(
            "table",
            { class: "lp-checks" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ...["Verdict", "Points", "Check", "Counted", "Allowed"].map((name) => h("th", { scope: "col" }, name))
              )
            ),
            h("tbody", {}, ...checks2.map(row))
          )
        )
      );
    }
  };
  function row(check) {
    const is_good = check.verdict === "pass", is_bad = check.verdict in SIGNS && !is_good;
    const sign2 = SIGNS[check.verdict];
    return h(
      "tr",
      { class: is_good ? "is-good" : is_bad ? "is-bad" : "is-quiet" },
      h("td", { class: "lp-verdict" }, sign2 ? h("span", { "aria-hidden": "true" }, `${sign2} `) : null, check.verdict),
      h("td", { class: "st-num" }, check.points),
      h("td", { class: "lp-check" }, check.title + (check.remark ? ` (${check.remark})` : "")),
      ...check.count === null ? [h("td", {}), h("td", {})] : counted(check, check.count)
    );
  }
  function number(value) {
    return value.toLocaleString("en", { maximumFractionDigits: 2 });
  }
  function counted(check, count) {
    const n = check.n === null ? "" : `, n = ${number(check.n)}`;
    return [
      h("td", {}, h("b", {}, number(count)), h("span", { class: "lp-quiet" }, ` ${check.counter}${n}`)),
      h("td", {}, allowed(check), gauge(check, count))
    ];
  }
  function allowed(check) {
    const low = check.at_least, high = check.at_most;
    if (low !== null && high !== null)
      return low === high ? number(low) : `${number(low)} to ${number(high)}`;
    return high !== null ? `at most ${number(high)}` : low !== null ? `at least ${number(low)}` : "";
  }
  function gauge(check, count) {
    const low = check.at_least ?? 0, high = check.at_most;
    const top = Math.max(count * 1.15, (high ?? low) * 1.3);
    if (top <= 0)
      return null;
    const at = (value) => Math.round(WIDTH * 10 * Math.min(value, top) / top) / 10;
    const end = at(high ?? top);
    return svg(
      "svg",
      { class: "lp-gauge", width: WIDTH, height: 12, "aria-hidden": "true" },
      svg("rect", { class: "lp-scale", x: 0, y: 4, width: WIDTH, height: 4, rx: 2 }),
      svg("rect", { class: "lp-band", x: at(low), y: 4, width: Math.max(2, end - at(low)), height: 4, rx: 2 }),
      svg("circle", { class: "lp-point", cx: Math.min(WIDTH - 5, Math.max(5, at(count))), cy: 6, r: 4.5 })
    );
  }
  function differenceView(now) {
    if (!now.difference)
      return [];
    const styles = { green: "is-added", red: "is-removed", cyan: "is-place" };
    return [h(
      "details",
      { class: "lp-section lp-difference" },
      h("summary", {}, "Compare yours with the solution"),
      h(
        "pre",
        { tabindex: "0", "aria-label": "Difference" },
        ...now.difference.map(([text, style]) => h("span", { class: styles[style] ?? "" }, `${text}
`))
      )
    )];
  }

  // ../learn_page/src/connection.ts
  var SILENT_MS = 25e3;
  function listen(heard) {
    let source2, last = 0, is_over = false;
    const alive = () => {
      last = Date.now();
    };
    const connect = () => {
      alive();
      source2 = new EventSource("events");
      source2.addEventListener("alive", alive);
      source2.addEventListener("message", (event) => {
        alive();
        heard.snapshot(JSON.parse(event.data));
      });
      source2.addEventListener("over", () => {
        is_over = true;
        source2.close();
        heard.over();
      });
      source2.addEventListener("error", () => {
        if (!is_over)
          heard.lost();
      });
    };
    connect();
    setInterval(() => {
      if (is_over || source2.readyState !== EventSource.CLOSED && Date.now() - last < SILENT_MS)
        return;
      source2.close();
      connect();
    }, 2e3);
  }
  async function press(what) {
    await fetch(what, { method: "POST" }).catch(() => void 0);
  }

  // ../learn_page/src/handout_view.ts
  var HandoutView = class {
    element = h("section", { class: "lp-handout", id: "handout", "aria-label": "Handout" });
    shown = "";
    show({ handout: handout2 }) {
      const key = JSON.stringify(handout2);
      if (key === this.shown)
        return;
      this.shown = key;
      const body = handout2.page ? h("iframe", { src: handout2.page, title: "Handout", sandbox: "allow-same-origin allow-popups" }) : h("pre", { class: "lp-markdown", tabindex: "0", "aria-label": "Handout's text" }, handout2.text);
      const alone = handout2.page ? h("a", { href: handout2.page, target: "_blank", rel: "noopener" }, "open alone") : null;
      this.element.hidden = !handout2.page && !handout2.text;
      this.element.replaceChildren(
        h("div", { class: "lp-handout-head" }, h("h2", { class: "lp-title" }, "Handout"), alone),
        body
      );
    }
  };

  // ../learn_page/src/head_view.ts
  var HeadView = class {
    element;
    path = h("ol", { class: "lp-path", "aria-label": "Labs" });
    count = h("span", { class: "lp-count" });
    title = h("h1", {});
    file = h("span", { class: "lp-file" });
    state = h("span", { class: "lp-state", role: "status" });
    parts = h("nav", { class: "lp-parts", "aria-label": "On this page" });
    labs = "";
    constructor() {
      this.element = h(
        "header",
        { class: "lp-head" },
        h("div", { class: "lp-way" }, h("span", { class: "lp-name" }, "scanlab"), this.path, this.count, this.parts),
        h("div", { class: "lp-bar" }, h("div", {}, this.title, this.file), this.state)
      );
    }
    show(now) {
      const labs = JSON.stringify(now.labs);
      if (labs !== this.labs) {
        this.path.replaceChildren(...now.labs.map(rung));
        this.count.textContent = `${now.labs.filter((lab) => lab.is_passed).length} of ${now.labs.length} labs passed`;
      }
      this.labs = labs;
      this.title.textContent = `${now.lab.number} ${now.lab.title}`;
      this.file.textContent = now.lab.path + (now.lab.tries ? ` · ${now.lab.tries}` : "");
      document.title = `${sign(now)} ${now.lab.number} ${now.lab.title}`;
      this.element.classList.toggle("is-busy", now.state === "checking" || now.state === "closer");
      this.say(stateText(now));
    }
    /** Links to the parts that there are now. */
    lead(parts) {
      const names = parts.filter((part) => !part.hidden).map((part) => part.id);
      if (names.join() === [...this.parts.children].map((link) => link.textContent).join())
        return;
      this.parts.replaceChildren(...names.map((name) => h("a", { href: `#${name}` }, name)));
    }
    say(text) {
      if (this.state.textContent !== text)
        this.state.textContent = text;
    }
    end() {
      this.element.classList.remove("is-busy");
      this.element.classList.add("is-over");
      document.title = "ended: scanlab learn";
      this.say("The loop in the terminal has ended.");
    }
  };
  function rung(lab) {
    const state = [
      lab.is_passed ? "passed" : "",
      lab.is_here ? "this one" : "",
      lab.is_next && !lab.is_here ? "next" : ""
    ].filter(Boolean);
    const names = `${lab.is_passed ? " is-passed" : ""}${lab.is_here ? " is-here" : ""}${lab.is_next ? " is-next" : ""}`;
    const text = `${lab.number} ${lab.title}${lab.tries ? `: ${lab.tries}` : ""}`;
    return h(
      "li",
      { class: `lp-rung${names}`, title: text, ...lab.is_here ? { "aria-current": "step" } : {} },
      h("span", { "aria-hidden": "true" }, lab.is_passed ? "✓" : `${Number(lab.number)}`),
      h("span", { class: "lp-unseen" }, [text, ...state].join(", "))
    );
  }
  function sign(now) {
    if (now.state === "checking")
      return "…";
    return now.result ? now.result.verdict === "pass" ? "✓" : "✗" : "·";
  }
  function stateText(now) {
    if (now.state === "checking")
      return "Checking …";
    if (now.state === "closer")
      return "Looking closer …";
    if (now.state === "begin")
      return "Save the file: it is checked at once";
    return now.result ? `Checked in ${now.seconds.toFixed(1)} s. Save to check again` : "Save to check again";
  }

  // src/words.ts
  function capital(text) {
    return /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  }

  // ../learn_page/src/result_view.ts
  var MOST_LINES = 8;
  function resultView(now, goTo) {
    const link = { path: now.lab.path, goTo };
    if (now.trouble)
      return [card("is-trouble", "No result", h("pre", { class: "lp-facts" }, now.trouble))];
    if (!now.result)
      return now.state === "begin" ? [taskView(now)] : [];
    if (now.result.verdict === "pass")
      return [passView(now, now.result, link)];
    const { failures: [first, ...others], more } = now.result;
    if (!first)
      return [card("is-failure", now.result.verdict, score(now.result))];
    const folded = others.map(
      (one) => h(
        "details",
        { class: "lp-more" },
        h("summary", {}, h("span", { class: "lp-kind" }, one.kind), capital(one.headline)),
        failureBody(one, link)
      )
    );
    const rest = others.length ? [h(
      "div",
      { class: "lp-others" },
      h("p", { class: "lp-small" }, "Also wrong. Fix the first one first: these often go with it."),
      ...folded,
      more ? h("p", { class: "lp-small" }, `and ${more} more`) : null
    )] : [];
    return [failureView(first, now.result, link), ...rest];
  }
  function taskView(now) {
    return card(
      "is-task",
      "Your task",
      h("p", { class: "lp-lead" }, sentence(now.lab.summary)),
      h(
        "ol",
        { class: "lp-todo" },
        h("li", {}, "Read the ", h("a", { href: "#handout" }, "handout"), "."),
        h(
          "li",
          {},
          "Write in ",
          h("code", {}, now.lab.path),
          " between the lines ",
          h("code", {}, "// >>> your code"),
          " and ",
          h("code", {}, "// <<< your code"),
          "."
        ),
        h("li", {}, "Save: the file is checked at once, and this page shows what to fix first.")
      )
    );
  }
  function failureView(one, result2, link) {
    return h(
      "section",
      { class: "lp-card is-failure", "aria-label": "Fix this first" },
      h("p", { class: "lp-over" }, h("span", { class: "lp-kind" }, one.kind), score(result2)),
      h("h2", {}, capital(one.headline)),
      failureBody(one, link)
    );
  }
  function failureBody(one, link) {
    const said = [one.says, ...one.facts].join("\n");
    const lines = [...new Set(one.marks.map((mark) => mark.line))].filter((line2) => !said.includes(`${link.path}:${line2}`));
    const is_command = one.again.startsWith("grader/scanlab");
    return h(
      "div",
      { class: "lp-body" },
      ...one.says.split("\n").filter(Boolean).map((part) => h("p", {}, ...linked(sentence(part), link))),
      one.cure ? h("p", { class: "lp-cure" }, h("b", {}, "Fix: "), one.cure) : null,
      lines.length ? h("p", {}, "In ", ...listed(lines.slice(0, MOST_LINES).map((line2) => lineButton(line2, link))), ".") : null,
      ...factsOf(one.facts, link),
      outputsView(one),
      one.words.length ? h(
        "details",
        { class: "lp-words" },
        h("summary", {}, "nvcc's own words"),
        h("pre", { class: "lp-facts", tabindex: "0", "aria-label": "nvcc" }, one.words.join("\n"))
      ) : null,
      one.tried ? h("p", { class: "lp-small" }, `Seen in: ${one.tried}`) : null,
      one.again && (is_command || one.again !== one.says) ? h("p", { class: "lp-small" }, is_command ? "Again: " : "", is_command ? h("code", {}, one.again) : one.again) : null
    );
  }
  function factsOf(facts, link) {
    const isColumns = (fact) => / {2}| \| |^\S+\[/.test(fact);
    const made = [];
    for (let at = 0; at < facts.length; ) {
      const kind = isColumns(facts[at]), first = at;
      while (at < facts.length && isColumns(facts[at]) === kind)
        ++at;
      const run = facts.slice(first, at);
      made.push(
        kind ? h("pre", { class: "lp-facts" }, ...linked(run.join("\n"), link)) : h("p", {}, ...linked(run.map(sentence).join(" "), link))
      );
    }
    return made;
  }
  function linked(text, link) {
    const [before, ...others] = text.split(`${link.path}:`);
    return [
      before,
      ...others.flatMap((part) => {
        const line2 = /^\d+/.exec(part)?.[0];
        return line2 ? [lineButton(Number(line2), link), part.slice(line2.length)] : [`${link.path}:${part}`];
      })
    ];
  }
  function lineButton(line2, { goTo }) {
    return h("button", { type: "button", class: "st-link", click: () => goTo(line2) }, `line ${line2}`);
  }
  function listed(nodes) {
    return nodes.flatMap((node, at) => at ? [", ", node] : [node]);
  }
  function outputsView(one) {
    if (!one.outputs)
      return null;
    const { head: head2, rows } = one.outputs;
    return h(
      "div",
      { class: "st-box", tabindex: "0", role: "group", "aria-label": "Outputs" },
      h(
        "table",
        { class: "lp-outputs" },
        h("thead", {}, h("tr", {}, ...head2.map((name) => h("th", { scope: "col" }, name)), h("td", {}))),
        h(
          "tbody",
          {},
          ...rows.map(
            (row2) => h(
              "tr",
              { class: row2.is_wrong ? "is-wrong" : "" },
              ...row2.cells.map((cell) => h("td", {}, cell)),
              h("td", {}, row2.is_wrong ? "← wrong" : "")
            )
          )
        )
      )
    );
  }
  function passView(now, result2, link) {
    const next = now.next;
    return card(
      "is-pass",
      "Passed",
      h("p", { class: "lp-over" }, score(result2)),
      result2.proved.length ? h(
        "div",
        {},
        h("p", { class: "lp-strong" }, "What was proved"),
        h("ul", {}, ...result2.proved.map((one) => h("li", {}, sentence(one.sentence))))
      ) : h(
        "p",
        {},
        `All ${result2.run} checks pass: right results in several orders of blocks and warps, no race, and `,
        "no more work than the solution's algorithm needs."
      ),
      ...result2.advice.map(
        (one) => h("details", { class: "lp-more" }, h("summary", {}, `Advice: ${one.headline}`), failureBody(one, link))
      ),
      result2.warnings.length ? h("pre", { class: "lp-facts" }, result2.warnings.join("\n")) : null,
      result2.printed.length ? h("div", {}, h("p", {}, "The program printed:"), h("pre", { class: "lp-facts" }, result2.printed.join("\n"))) : null,
      next ? h(
        "div",
        { class: "lp-next" },
        h(
          "button",
          { type: "button", class: "st-button lp-main-button", click: () => void press("next") },
          `Next: lab ${next.number}`
        ),
        h("p", {}, h("b", {}, next.title), `: ${next.summary}.`)
      ) : h("p", {}, "All labs are passed. See how fast yours is: ", h("code", {}, "grader/scanlab bench 11"))
    );
  }
  function card(kind, title, ...children) {
    return h("section", { class: `lp-card ${kind}`, "aria-label": title }, h("h2", {}, title), ...children);
  }
  function score(result2) {
    return h(
      "span",
      { class: "lp-score" },
      `${result2.points} of ${result2.max_points} points · ${result2.passed} of ${result2.run} checks pass`
    );
  }
  function sentence(text) {
    return capital(text) + (/[.!?…]$/.test(text) ? "" : ".");
  }
  var HintsView = class {
    element = h("section", { class: "lp-hints", "aria-label": "Hints" });
    list = h("ol", { class: "lp-hint-list", "aria-live": "polite" });
    button = h("button", { type: "button", class: "st-button", click: () => void press("hint") });
    shown = "";
    constructor() {
      this.element.append(this.list, this.button);
    }
    show(now) {
      const { texts, total } = now.hints, key = JSON.stringify([now.lab.name, texts]);
      this.button.hidden = texts.length >= total || now.result?.verdict === "pass";
      this.element.hidden = !texts.length && this.button.hidden;
      this.button.textContent = texts.length ? `Another hint (${texts.length + 1} of ${total})` : "Give me a hint";
      if (key !== this.shown)
        this.list.replaceChildren(...texts.map(hint));
      this.shown = key;
    }
  };
  function hint(text) {
    return h("li", {}, ...text.split(/\n\n+/).map((part) => h(/^ {2}/m.test(part) ? "pre" : "p", {}, part)));
  }

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
      const line2 = lines[lines.length - 1], last = line2[line2.length - 1];
      if (piece && last?.[0] === kind)
        last[1] += piece;
      else if (piece)
        line2.push([kind, piece]);
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
  function kindOf(word, line2) {
    if (word.startsWith("//") || word.startsWith("/*"))
      return "c";
    if (line2.some(([kind]) => kind === "p") || word === "#" && line2.every(([, piece]) => !piece.trim()))
      return "p";
    if (word[0] === '"' || word[0] === "'")
      return "s";
    if (/^\.?\d/.test(word))
      return "m";
    return WORDS.has(word) ? "k" : "";
  }

  // ../learn_page/src/source_pane.ts
  var MOST_NOTES = 4;
  var LINES_ABOVE = 6;
  var SourcePane = class {
    element;
    name = h("h2", { class: "lp-title" }, "Your file");
    pane = h("div", { class: "st-source lp-source", tabindex: "0", role: "group", "aria-label": "Source" });
    lines = [];
    constructor() {
      this.element = h("section", { "aria-label": "Your file" }, this.name, this.pane);
    }
    /** Shows the file; of the same lab it stays where it was scrolled to. */
    show(now, is_same_lab) {
      const { scrollTop, scrollLeft } = this.pane;
      const notes = notesOf(now.result?.failures ?? []);
      this.element.hidden = now.source === null;
      this.lines = coloured(now.source ?? "").map((pieces, at) => line(at + 1, pieces, notes.get(at + 1) ?? []));
      this.pane.replaceChildren(h("ol", { class: "st-lines" }, ...this.lines));
      if (is_same_lab) {
        this.pane.scrollTo({ top: scrollTop, left: scrollLeft });
        return;
      }
      const first = Math.min(...notes.keys());
      const begins = this.lines.findIndex((one) => one.textContent?.includes(">>> your code"));
      this.scroll(Number.isFinite(first) ? first - 1 : begins);
    }
    /** Shows a line, and leads the keyboard there. */
    goTo(number2) {
      this.scroll(number2 - 1);
      this.pane.focus({ preventScroll: true });
      this.element.scrollIntoView({ block: "nearest" });
    }
    scroll(index) {
      const top = this.lines[Math.max(0, index - LINES_ABOVE)];
      if (top)
        this.pane.scrollTop = top.offsetTop;
    }
  };
  function line(number2, pieces, notes) {
    const role = notes.find((note) => note.is_first) ? " is-race" : notes.length ? " lp-also" : "";
    return h(
      "li",
      { class: `st-line${role}` },
      h("span", { class: "st-number", "aria-hidden": "true" }, `${number2}`),
      h("span", { class: "st-sign", "aria-hidden": "true" }, notes.length ? "!" : ""),
      h("code", {}, ...pieces.map(([kind, text]) => kind ? h("span", { class: `st-${kind}` }, text) : text)),
      ...notes.slice(0, MOST_NOTES).map(({ mark }) => h("span", { class: "st-note" }, h("span", {}, mark.label || "wrong here")))
    );
  }
  function notesOf(failures) {
    const notes = /* @__PURE__ */ new Map();
    failures.forEach((failure, at) => {
      for (const mark of failure.marks) {
        const own = notes.get(mark.line) ?? [];
        if (!own.some((note) => note.mark.label === mark.label))
          own.push({ is_first: at === 0, mark });
        notes.set(mark.line, own);
      }
    });
    return notes;
  }

  // ../learn_page/src/steps_view.ts
  var StepsView = class {
    element;
    about = h("p", { class: "lp-small", "aria-live": "polite" });
    place = h("div", {});
    stepper = null;
    number = 0;
    constructor() {
      this.element = h(
        "section",
        { class: "lp-section", id: "steps", "aria-label": "Steps of your kernel", hidden: true },
        h("h2", { class: "lp-title" }, "Your kernel, step by step"),
        this.about,
        this.place
      );
    }
    /** Shows the steps of this version; until they are there, those of the one before, of the same lab, stay. */
    show(now, is_same_lab) {
      const { number: number2, is_made, why } = now.steps;
      if (!is_same_lab || why || now.state === "begin" || now.state === "gone")
        this.clear();
      this.element.hidden = !this.stepper && !why && !is_made && !number2;
      this.place.classList.toggle("is-old", !number2);
      this.say(
        number2 ? "Your kernel on 16 inputs that are all different. Inside, the arrow keys step." : why ? why : is_made ? "Tracing this version …" : "The steps of the version before; those of this one follow the check."
      );
      if (number2 && number2 !== this.number)
        void this.load(number2);
    }
    async load(number2) {
      this.number = number2;
      try {
        const answer = await fetch(`steps/${number2}`);
        if (!answer.ok || this.number !== number2)
          return;
        const { trace, source: source2 } = await answer.json();
        if (this.number !== number2)
          return;
        const chosen = this.stepper?.chosen ?? {};
        this.stepper?.destroy();
        this.stepper = scanlabStepper.mount(this.place, trace, source2, chosen);
      } catch {
        this.number = 0;
      }
    }
    clear() {
      this.stepper?.destroy();
      this.stepper = null;
      this.number = 0;
    }
    say(text) {
      if (this.about.textContent !== text)
        this.about.textContent = text;
    }
  };

  // ../learn_page/src/index.ts
  var head = new HeadView();
  var hints = new HintsView();
  var steps = new StepsView();
  var checks = new ChecksView();
  var handout = new HandoutView();
  var source = new SourcePane();
  var result = h("div", { class: "lp-result" });
  var difference = h("div", {});
  var shown = null;
  function show(now) {
    const is_same_lab = shown?.lab.name === now.lab.name && shown.lab.path === now.lab.path;
    head.show(now);
    hints.show(now);
    handout.show(now);
    steps.show(now, is_same_lab);
    const is_waiting = now.state === "checking" && is_same_lab && shown?.result != null;
    document.body.classList.toggle("is-waiting", is_waiting);
    if (!is_waiting)
      showResult(now, is_same_lab);
    head.lead([steps.element, checks.element, handout.element]);
  }
  function showResult(now, is_same_lab) {
    const is_other = now.state === "begin" !== (shown?.state === "begin");
    if (!is_same_lab || is_other || differs(now, shown, "result", "trouble", "next"))
      result.replaceChildren(...resultView(now, (line2) => source.goTo(line2)));
    if (!is_same_lab || differs(now, shown, "result", "source"))
      source.show(now, is_same_lab);
    if (!is_same_lab || differs(now, shown, "result"))
      checks.show(now);
    if (!is_same_lab || differs(now, shown, "difference"))
      difference.replaceChildren(...differenceView(now));
    shown = now;
  }
  function differs(now, before, ...keys) {
    return keys.some((key) => JSON.stringify(now[key]) !== JSON.stringify(before?.[key]));
  }
  document.getElementById("page")?.replaceChildren(
    head.element,
    h(
      "main",
      { class: "lp-main" },
      h("div", { class: "lp-left" }, result, hints.element, source.element),
      handout.element,
      h("div", { class: "lp-below" }, steps.element, checks.element, difference)
    )
  );
  listen({ snapshot: show, lost: () => head.say("No connection to the terminal; trying again …"), over: () => head.end() });
})();
