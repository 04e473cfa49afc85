// SPDX-License-Identifier: Apache-2.0
// Builds the page from its JSON elements.
(function () {
  "use strict";
  const { element } = headroom;
  const kThemes = ["system", "light", "dark"];

  // localStorage may be unavailable for a file: URL.
  function stored(theme) {
    try {
      if (theme !== undefined) localStorage.setItem("headroom-theme", theme);
      return localStorage.getItem("headroom-theme");
    } catch (error) {
      return null;
    }
  }

  function theme_switch() {
    const set = (theme) => {
      document.documentElement.dataset.theme = theme;
      button.textContent = theme === "system" ? "colours: system" : "colours: " + theme;
    };
    const button = element("button", { type: "button", class: "theme", title: "light, dark or system colours", click: () => {
      const next = kThemes[(kThemes.indexOf(document.documentElement.dataset.theme) + 1) % kThemes.length];
      set(next);
      stored(next);
    } });
    const before = stored();
    set(kThemes.includes(before) ? before : "system");
    return button;
  }

  function section_of({ kind, title, data }, i) {
    const box = element("section", { id: `section-${i + 1}`, "data-kind": kind, "aria-labelledby": `title-${i + 1}` },
      element("h2", { id: `title-${i + 1}` }, title));
    const draw = headroom.sections[kind];
    if (draw) draw(box, data);
    else box.append(element("p", {}, `Cannot draw a section of kind ${kind}.`));
    return box;
  }

  const parts_of = (page) => Array.from(page.querySelectorAll('script[type="application/json"]'), (script) => ({
    kind: script.dataset.kind, text: script.textContent, ...JSON.parse(script.textContent) }));
  const parts = parts_of(document);
  const page = parts.find((part) => part.kind === "page");
  const sections = parts.filter((part) => part.kind !== "page");
  const main = element("main", {});
  headroom.append(document.body, [
    element("header", {}, element("h1", {}, page.title), theme_switch(), page.note && element("p", { class: "note" }, page.note),
      (page.links.length > 0 || sections.length > 1) && element("nav", { "aria-label": "pages and sections" },
        page.links.map((link) => element("a", { href: link.href }, link.text)),
        sections.length > 1 && sections.map((part, i) => part.kind !== "running" && element("a", { href: `#section-${i + 1}` }, part.title)))),
    main,
    element("footer", {}, `Made by headroom ${page.version}.`),
  ]);
  sections.forEach((part, i) => main.append(section_of(part, i)));
  if (page.live) headroom.live(page.live, { sections, parts_of, redraw: (i) => main.children[i].replaceWith(section_of(sections[i], i)), main });
})();
