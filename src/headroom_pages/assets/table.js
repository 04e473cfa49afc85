// SPDX-License-Identifier: Apache-2.0
// Shows a hundred rows at a time.
(function () {
  "use strict";
  const { element } = headroom;
  const kAtOnce = 100;

  const is_missing = (value) => value === null || value === undefined || Number.isNaN(value);

  // Missing values come last in both directions.
  function compare(a, b, direction) {
    if (is_missing(a) || is_missing(b)) return (is_missing(a) ? 1 : 0) - (is_missing(b) ? 1 : 0);
    if (typeof a === "number" && typeof b === "number") return direction * (a - b);
    return direction * String(a).localeCompare(String(b), "en", { numeric: true });
  }

  class Table {
    constructor({ label, columns, rows, text, facets, open }) {
      Object.assign(this, { label, columns, rows, text, open, facets: facets || [] });
      this.words = [];
      this.facet = null;
      this.sorted = null;
      this.direction = 1;
      this.first = 0;
      this.opened = new Set();
      this.body = element("tbody");
      this.status = element("p", { class: "status", "aria-live": "polite" });
      this.pager = element("p", { class: "pager" });
      this.heads = columns.map((column) => this.head(column));
      const has_beside = columns.some((column) => (column.name || "").startsWith("beside"));
      this.table = element("table", { class: has_beside ? "cases with-beside" : "cases", "aria-label": label },
        element("thead", {}, element("tr", {}, this.heads)), this.body);
      this.settle = headroom.rove(this.body, ".row-key");
      this.node = element("div", { class: "table" }, this.controls(), this.table, this.pager);
      this.show();
    }

    head(column) {
      return element("th", { scope: "col", class: [column.number && "number", column.head && "picture"].filter(Boolean).join(" ") || null },
        column.sort
          ? element("button", { type: "button", title: column.help, click: () => this.sort(column) }, column.title)
          : column.head ? column.head() : column.title);
    }

    controls() {
      if (this.rows.length < 2) return null;
      const search = element("input", { type: "search", placeholder: "filter", "aria-label": `filter ${this.label}`,
        input: () => { this.words = search.value.toLowerCase().split(/\s+/).filter(Boolean); this.turn(0); } });
      this.chips = this.facets.map((facet) => element("button", { type: "button", class: "chip " + (facet.tone || ""),
        "aria-pressed": "false", click: () => { this.facet = this.facet === facet ? null : facet; this.turn(0); } },
        headroom.numbers.element(facet.count, String(facet.count)), " " + facet.title));
      return element("div", { class: "controls" }, search, this.sorter(), this.chips, this.status);
    }

    // For narrow pages, where rows are blocks without a head.
    sorter() {
      const sortable = this.columns.filter((column) => column.sort);
      return element("select", { class: "sorter", "aria-label": `sort ${this.label}`, change: (event) => {
        this.sorted = sortable[event.target.selectedIndex - 1] || null;
        this.direction = this.sorted ? this.sorted.first || 1 : 1;
        this.turn(0);
      } }, element("option", {}, "sort by"), sortable.map((column) => element("option", {}, column.title)));
    }

    // Cycles: the column's first direction, the reverse, the original order.
    sort(column) {
      if (this.sorted !== column) {
        this.sorted = column;
        this.direction = column.first || 1;
      } else if (this.direction === (column.first || 1)) {
        this.direction = -this.direction;
      } else {
        this.sorted = null;
      }
      this.turn(0);
    }

    turn(first) {
      this.first = first;
      this.show();
    }

    matching() {
      const rows = this.rows.filter((row) => {
        if (this.facet && !this.facet.test(row)) return false;
        if (this.words.length === 0) return true;
        const text = this.text(row).toLowerCase();
        return this.words.every((word) => text.includes(word));
      });
      if (this.sorted === null) return rows;
      const keys = new Map(rows.map((row) => [row, this.sorted.sort(row)]));
      return rows.sort((a, b) => compare(keys.get(a), keys.get(b), this.direction) || a.index - b.index);
    }

    show() {
      const rows = this.matching();
      this.body.replaceChildren(...rows.slice(this.first, this.first + kAtOnce).flatMap((row) => this.lines(row)));
      this.heads.forEach((head, i) => {
        const way = this.columns[i] !== this.sorted ? "none" : this.direction > 0 ? "ascending" : "descending";
        if (this.columns[i].sort) head.setAttribute("aria-sort", way);
      });
      (this.chips || []).forEach((chip, i) => chip.setAttribute("aria-pressed", String(this.facets[i] === this.facet)));
      this.status.textContent = rows.length === this.rows.length ? "" : `${rows.length} of ${this.rows.length}`;
      this.show_pager(rows.length);
      if (rows.length > 0) this.settle();
    }

    show_pager(count) {
      if (count <= kAtOnce) return void this.pager.replaceChildren();
      const button = (text, first) => element("button", { type: "button", disabled: first < 0 || first >= count,
        click: () => this.turn(first) }, text);
      this.pager.replaceChildren(button("previous", this.first - kAtOnce),
        ` ${this.first + 1}–${Math.min(count, this.first + kAtOnce)} of ${count} `,
        button("next", this.first + kAtOnce));
    }

    lines(row) {
      const id = `row-${this.id}-${row.index}`;
      const cells = this.columns.map((column, i) => {
        const content = column.show(row);
        const inside = i > 0 ? content : this.key(row, content);
        const is_empty = content === null || content === undefined || content === "" || content === false;
        return element("td", { class: [column.number && "number", column.tone && column.tone(row), column.name, is_empty && "empty"]
          .filter(Boolean).join(" "), "data-title": column.title || null }, inside);
      });
      const line = element("tr", { class: row.faint ? "faint" : null, "data-index": String(row.index) }, cells);
      if (!this.opened.has(row)) return [line];
      return [line, element("tr", { class: "opened", id }, element("td", { colspan: String(this.columns.length) },
        this.open(row, this)))];
    }

    // Clears filters that hide the row.
    reveal(row) {
      if (!this.matching().includes(row)) {
        this.words = [];
        this.facet = null;
        const search = this.node.querySelector("input");
        if (search) search.value = "";
      }
      this.opened.add(row);
      this.turn(Math.floor(this.matching().indexOf(row) / kAtOnce) * kAtOnce);
      const line = this.body.querySelector(`tr[data-index="${row.index}"]`);
      line.querySelector(".row-key").focus();
      line.scrollIntoView({ block: "start" });
    }

    key(row, content) {
      if (!this.open) return element("span", { class: "row-key", tabindex: "-1" }, content);
      return element("button", { type: "button", class: "row-key", tabindex: "-1",
        "aria-expanded": String(this.opened.has(row)), click: () => this.toggle(row) }, content);
    }

    toggle(row) {
      if (!this.opened.delete(row)) this.opened.add(row);
      const line = this.body.querySelector(`tr[data-index="${row.index}"]`);
      if (line.nextSibling && line.nextSibling.classList.contains("opened")) line.nextSibling.remove();
      const lines = this.lines(row);
      line.replaceWith(...lines);
      lines[0].querySelector(".row-key").focus();
    }
  }

  // columns: [{title, show(row), sort(row) or absent, number, first: 1 or -1, tone(row), help, head() instead of a title}]; text(row): searched text;
  // facets: [{title, count, test(row), tone}]; open(row): content of an opened row.
  headroom.table = (options) => new Table(options).node;
})();
