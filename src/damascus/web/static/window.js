// The window's only script. It computes nothing about stories: when something happens, the page asks for itself anew.
"use strict";
(() => {
  const POLL = 5000, OFTEN = 1000, SELDOM = 20000;
  const strip = () => document.querySelector("#strip .live");
  const banner = document.getElementById("disconnected");
  const said = document.getElementById("said");
  const clock = (at) => new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

  // What is new does not take away what a person is at: a field with words in it, an open detail, the focus.
  const busy = (part) => [...part.querySelectorAll("textarea, input:not([type=hidden])")]
    .some((field) => field.value !== field.defaultValue || field === document.activeElement);
  const keyOf = (node) => node.id || node.dataset.command || "";

  function swap(part, fresh) {
    if (part.innerHTML === fresh.innerHTML) return;
    const open = new Set([...part.querySelectorAll("details[open]")].map((one) => one.querySelector("summary")?.textContent));
    const closed = new Set([...part.querySelectorAll("details:not([open])")].map((one) => one.querySelector("summary")?.textContent));
    const chosen = part.contains(document.activeElement) ? document.activeElement : null;
    const at = chosen && { item: keyOf(chosen.closest("[data-item]") || chosen), key: chosen.dataset.key, href: chosen.getAttribute("href") };
    part.replaceChildren(...fresh.childNodes);
    for (const one of part.querySelectorAll("details")) {
      const name = one.querySelector("summary")?.textContent;
      if (open.has(name)) one.open = true; else if (closed.has(name)) one.open = false;
    }
    if (at) {
      const item = [...part.querySelectorAll("[data-item], a, button")].find((one) => at.item && keyOf(one) === at.item);
      const inner = at.key ? item?.querySelector(`[data-key="${at.key}"]`) : at.href ? item?.querySelector(`a[href="${CSS.escape(at.href)}"]`) : null;
      (inner || item)?.focus({ preventScroll: true });
    }
  }

  // Somebody writes in one of its lines: that one stays, the others are as they are now.
  function around(part, fresh) {
    for (const item of part.querySelectorAll("[data-item][id]")) {
      const other = [...fresh.querySelectorAll("[data-item][id]")].find((one) => one.id === item.id);
      if (!busy(item)) { if (other) swap(item, other); else item.remove(); } else item.classList.toggle("gone", !other);
    }
  }

  let asked = 0, asking = false, wanted = null, behind = null, lost = null;
  async function renew() {
    if (asking) { again(OFTEN); return; }
    asking = true;
    asked = Date.now();
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.status === 401) { say("this browser is not known any more: open the link that the window printed"); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      show(fresh);
      behind = null;
    } catch (error) {
      behind = behind || Date.now();
    } finally {
      asking = false;
      tell();
    }
  }
  function show(fresh) {
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = part.id && fresh.getElementById(part.id);
      if (other) (busy(part) ? around : swap)(part, other);
    }
    if (document.title !== fresh.title) document.title = fresh.title;
    const icon = document.getElementById("icon"), next = fresh.getElementById("icon");
    if (icon && next && icon.getAttribute("href") !== next.getAttribute("href")) {
      icon.replaceWith(next.cloneNode());
      const count = fresh.querySelector("#strip .needs");
      said.textContent = count ? count.textContent : "nothing needs you";
    }
  }
  function again(soon) {
    if (wanted !== null) return;
    wanted = setTimeout(() => { wanted = null; renew(); }, Math.max(0, Math.min(soon, asked + soon - Date.now())));
  }

  let alone = "";
  function say(words) { alone = words; tell(); }
  function tell() {
    const line = strip();
    const words = alone ? alone
      : lost ? `disconnected since ${clock(lost)}: looking every ${POLL / 1000} s`
      : stale ? `behind since ${clock(stale.since)}: ${stale.why}`
      : behind ? `behind since ${clock(behind)}: the window does not answer` : "";
    banner.hidden = !words;
    if (words && banner.textContent !== words) banner.textContent = words;
    if (line) { line.textContent = words ? "not live" : "live"; line.classList.toggle("alarm", Boolean(words)); }
  }

  let stale = null, source = null, number = document.body.dataset.seq;
  function listen() {
    source = new EventSource(`/live?after=${encodeURIComponent(number)}`);
    source.onopen = () => { if (lost) again(0); lost = null; tell(); };
    source.addEventListener("change", (event) => { number = event.lastEventId; stale = null; again(OFTEN); });
    source.addEventListener("behind", (event) => { stale = JSON.parse(event.data); tell(); again(POLL); });
    source.addEventListener("current", () => { stale = null; again(0); tell(); });
    source.onerror = () => {
      lost = lost || Date.now();
      tell();
      if (source.readyState === EventSource.CLOSED) { source.close(); setTimeout(listen, POLL / 2); }
    };
  }
  setInterval(() => { if (lost || stale || behind) again(0); }, POLL);
  setInterval(() => { if (!document.hidden) again(0); }, SELDOM);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) again(0); });
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) { listen(); again(0); } });

  // Keys. None in a field, none with a modifier.
  const pages = { n: "/", i: "/inbox", s: "/stories", q: "/queue" };
  const items = () => [...document.querySelectorAll("[data-item]")].filter((one) => one.offsetParent !== null);
  const current = () => document.activeElement?.closest?.("[data-item]") || null;
  let going = 0;
  function step(by) {
    const all = items(), at = all.indexOf(current());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
  function answer(key) {
    const questions = [...document.querySelectorAll(".question")];
    const chosen = current()?.closest(".question") || (questions.length === 1 ? questions[0] : null);
    if (!chosen) { questions[0]?.focus(); return; }
    const button = chosen.querySelector(`button[data-key="${key}"]`);
    if (!button) return;
    const words = chosen.querySelector("textarea");
    if ("words" in button.dataset && words && !words.value.trim()) { words.focus(); return; }
    button.form.requestSubmit(button);
  }
  async function copy() {
    const item = current(), command = item?.dataset.command || document.querySelector("main code.command")?.textContent;
    if (!command) return;
    try { await navigator.clipboard.writeText(command); said.textContent = `copied: ${command}`; flash(item, "copied"); }
    catch (error) { said.textContent = `not copied: ${command}`; }
  }
  function flash(item, name) { item?.classList.add(name); setTimeout(() => item?.classList.remove(name), 900); }
  function search() {
    const field = document.querySelector("input[type=search]");
    if (field) { field.focus(); field.select(); } else location.assign("/stories#search");
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const field = event.target.closest?.("input, textarea, select, [contenteditable]");
    const keys = document.getElementById("keys");
    if (field) { if (event.key === "Escape") field.blur(); return; }
    if (keys.open) { if (event.key === "?") keys.close(); return; }
    if (Date.now() - going < 1500 && pages[event.key]) { going = 0; event.preventDefault(); location.assign(pages[event.key]); return; }
    going = 0;
    const done = { g: () => { going = Date.now(); }, j: () => step(1), k: () => step(-1), "/": search, y: copy, "?": () => keys.showModal(),
      Enter: () => { if (document.activeElement?.matches("[data-item]")) document.activeElement.querySelector("a[href]")?.click(); else return false; } }[event.key]
      || (/^[1-9]$/.test(event.key) ? () => answer(event.key) : null);
    if (done && done() !== false && event.key !== "Enter") event.preventDefault();
  });

  // A notice is told once.
  const here = new URL(location.href);
  if (here.searchParams.has("notice")) { here.searchParams.delete("notice"); history.replaceState(null, "", here); }
  if (location.hash === "#search") search();
  if (window.EventSource && document.getElementById("strip")) { listen(); tell(); }
})();
