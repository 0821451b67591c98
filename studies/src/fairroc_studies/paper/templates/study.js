"use strict";
(() => {
  const runs = () => document.querySelectorAll("details.run");
  const show = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const run = target && target.closest("details.run");
    if (run) { run.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", show);
  show();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => { closed.forEach((one) => { one.open = false; }); });
  for (const [id, open] of [["open-all", true], ["close-all", false]]) {
    const button = document.getElementById(id);
    if (button) button.addEventListener("click", () => runs().forEach((run) => { run.open = open; }));
  }
  document.documentElement.classList.add("scripted");
})();
