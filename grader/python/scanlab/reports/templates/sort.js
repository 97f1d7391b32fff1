"use strict";
for (const table of document.querySelectorAll("table.all")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const compare = (a, b) =>
    a.dataset.by !== undefined && b.dataset.by !== undefined
      ? a.dataset.by - b.dataset.by
      : words.compare(a.textContent, b.textContent);
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falls = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => compare(a.cells[at], b.cells[at]));
      body.append(...(falls ? rows.reverse() : rows));
    });
  });
}
