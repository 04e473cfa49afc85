// SPDX-License-Identifier: Apache-2.0
// Polls `headroom serve` while the page is visible, and redraws what changed.
(function () {
  "use strict";
  const kEvery = 2000;

  // A section with focused controls is not redrawn.
  const is_in_use = (box) => box.contains(document.activeElement) && document.activeElement.matches("input, .mark, .row-key");

  headroom.live = function (live, { sections, parts_of, redraw, main }) {
    const status = headroom.element("p", { class: "live", role: "status" });
    main.before(status);
    let tag = live.tag, waiting = 0;
    const set_status = (text) => { if (status.textContent !== text) status.textContent = text; };

    function take(i, part) {
      if (part.text === sections[i].text) return true;
      if (is_in_use(main.children[i])) return false;
      sections[i] = part;
      redraw(i);
      return true;
    }

    function take_running(running) {
      const i = sections.findIndex((part) => part.kind === "running"), data = { runs: running }, text = JSON.stringify(data);
      if (i >= 0) take(i, { ...sections[i], data, text });
    }

    async function fetch_page() {
      const answer = await fetch(location.pathname, { cache: "no-store" });
      if (!answer.ok) return false;
      const parts = parts_of(new DOMParser().parseFromString(await answer.text(), "text/html")).filter((part) => part.kind !== "page");
      if (parts.length !== sections.length || parts.some((part, i) => part.kind !== sections[i].kind)) {
        location.reload();
        return true;
      }
      return parts.map((part, i) => part.kind === "running" || take(i, part)).every(Boolean);
    }

    async function poll() {
      clearTimeout(waiting);
      try {
        if (!document.hidden) {
          const answer = await fetch(live.href, { cache: "no-store" });
          if (!answer.ok) throw new Error(String(answer.status));
          const now = await answer.json();
          set_status(now.problem && `Cannot read the history; showing its last state. ${now.problem}`);
          take_running(now.running);
          if (now.tag !== tag && await fetch_page()) tag = now.tag;
        }
      } catch (error) {
        set_status("headroom serve does not answer; showing its last state.");
      }
      waiting = setTimeout(poll, kEvery);
    }

    document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
    waiting = setTimeout(poll, kEvery);
  };
})();
