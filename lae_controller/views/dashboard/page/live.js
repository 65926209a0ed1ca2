"use strict";
(() => {
  const DATA = "/dashboard/data";
  const TOKEN = "lae-token";
  const RETRY_MS = 2000;
  const $ = (id) => document.getElementById(id);
  const key = decodeURIComponent(location.pathname.split("/")[2] || "");
  const run = `${DATA}/runs/${encodeURIComponent(key)}`;
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  // -- asking the server -------------------------------------------------------------------------

  // The token travels in a header and lives in this tab alone; there is no cookie.
  async function call(path, method = "GET") {
    const headers = { "X-Lae-Dashboard": "1" };
    const token = sessionStorage.getItem(TOKEN);
    if (token) headers.Authorization = `Bearer ${token}`;
    const reply = await fetch(path, { method, headers, cache: "no-store" });
    if (reply.ok) return reply;
    const body = await reply.json().catch(() => null);
    const error = new Error(body?.error?.message || `the server answered ${reply.status}`);
    error.status = reply.status;
    throw error;
  }

  function askToken() {
    return new Promise((done) => {
      $("login-form").onsubmit = (event) => {
        event.preventDefault();
        sessionStorage.setItem(TOKEN, $("token").value.trim());
        $("token").value = "";
        $("login").close();
        done();
      };
      $("login").oncancel = (event) => event.preventDefault();
      if (!$("login").open) $("login").showModal();
    });
  }

  function say(text, bad) {
    $("said").hidden = !text;
    $("said").textContent = text;
    $("said").classList.toggle("bad", Boolean(bad));
  }

  function link(text, on) {
    if ($("link").textContent !== text) $("link").textContent = text;
    $("link").classList.toggle("on", on);
  }

  // -- server-sent events, read by fetch, which can carry the token ------------------------------

  async function read(reply, take) {
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const lines = rest.slice(0, end).split("\n");
        rest = rest.slice(end + 2);
        const part = (name) => lines.find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);
        if (part("event")) await take(part("event"), JSON.parse(part("data")));
      }
    }
  }

  async function listen(path, take) {
    for (;;) {
      try {
        const reply = await call(path);
        link("live", true);
        say("");
        await read(reply, take);
        link("the server has ended; trying again", false);
      } catch (error) {
        if (error.status === 403 && !error.message.includes("other sites")) {
          link("needs the token", false);
          sessionStorage.removeItem(TOKEN);
          await askToken();
          continue;
        }
        link(error.status ? "no connection" : "connection lost; trying again", false);
        if (error.status) say(error.message, true);
        if (error.status === 404) return;
      }
      await sleep(RETRY_MS);
    }
  }

  // -- putting sections into the page ------------------------------------------------------------

  const known = new Map(); // heading of a section -> its HTML as it came

  function patch(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const shown = $("shown");
    const main = shown.querySelector("main");
    const sections = [...fresh.querySelectorAll("main > section")];
    const names = sections.map((section) => section.getAttribute("aria-labelledby"));
    const same = main && [...main.querySelectorAll(":scope > section")]
      .map((section) => section.getAttribute("aria-labelledby")).join() === names.join();
    if (!same) {
      shown.replaceChildren(...fresh.body.childNodes);
      known.clear();
      sections.forEach((section, at) => known.set(names[at], section.outerHTML));
      return;
    }
    shown.querySelector("header").replaceWith(fresh.querySelector("header"));
    sections.forEach((section, at) => {
      const text = section.outerHTML;
      if (known.get(names[at]) === text) return;
      known.set(names[at], text);
      swap(main.querySelector(`:scope > section[aria-labelledby="${names[at]}"]`), section);
    });
  }

  // Replace an element by a fresh one, and leave the reader where he was: what is open stays open,
  // what was scrolled or focused too, and charts go on where they are.
  function swap(old, fresh) {
    for (const details of old.querySelectorAll("details[data-key]")) {
      const twin = fresh.querySelector(`details[data-key="${CSS.escape(details.dataset.key)}"]`);
      if (twin) twin.open = details.open;
    }
    for (const plot of old.querySelectorAll(".plot[data-drawn]")) {
      const twin = fresh.querySelector(`.plot[data-figure="${CSS.escape(plot.dataset.figure)}"]`);
      if (!twin) continue;
      plot.setAttribute("aria-label", twin.getAttribute("aria-label"));
      plot.dataset.height = twin.dataset.height;
      twin.replaceWith(plot);
    }
    for (const input of old.querySelectorAll("input:checked")) {
      const twin = fresh.querySelector(`input[name="${input.name}"][value="${input.value}"]`);
      if (twin) twin.checked = true;
    }
    const held = placeOfFocus(old);
    const boxes = [...old.querySelectorAll(".scroll, .diff")].map((it) => [it.scrollLeft, it.scrollTop]);
    old.replaceWith(fresh);
    [...fresh.querySelectorAll(".scroll, .diff")].forEach((box, at) => {
      if (boxes[at]) [box.scrollLeft, box.scrollTop] = boxes[at];
    });
    if (held) held(fresh)?.focus({ preventScroll: true });
  }

  function placeOfFocus(old) {
    const active = document.activeElement;
    if (!active || !old.contains(active)) return null;
    const program = active.dataset.program;
    if (program) return (root) => root.querySelector(`[data-program="${CSS.escape(program)}"]`);
    const kind = active.tagName;
    const at = [...old.querySelectorAll(kind)].indexOf(active);
    return (root) => root.querySelectorAll(kind)[at];
  }

  async function take(event, value) {
    if (event === "gone") return say(value.said, true);
    if (event === "runs") return patch(value.html);
    if (event === "view") return renew();
    if (event !== "now") return undefined;
    $("stop").hidden = !value.can_stop;
    latest = value.html;
    return moment();
  }

  let latest = "";
  let shownMoment = null;

  function moment() {
    const place = $("moment");
    if (!place || (shownMoment === latest && place.hasChildNodes())) return;
    const fresh = document.createElement("div");
    fresh.id = "moment";
    fresh.innerHTML = latest;
    swap(place, fresh);
    shownMoment = latest;
  }

  let version = "";

  async function renew() {
    const view = await (await call(run)).json();
    if (view.version === version) return;
    version = view.version;
    document.title = `${view.title}: lae dashboard`;
    patch(view.html);
    moment();
    if (view.data) window.report.show(view.data);
    document.body.dataset.version = version;
  }

  // -- one program -------------------------------------------------------------------------------

  document.addEventListener("click", async (event) => {
    const id = event.target.closest("[data-program]")?.dataset.program;
    if (!id) return;
    try {
      const reply = await call(`${run}/programs/${encodeURIComponent(id)}`);
      $("opened").innerHTML = (await reply.json()).html;
      if (!$("program").open) $("program").showModal();
      $("program").scrollTop = 0;
    } catch (error) {
      say(error.message, true);
    }
  });

  // -- stopping ----------------------------------------------------------------------------------

  $("stop").addEventListener("click", () => {
    const name = document.querySelector("#shown h1")?.textContent || key;
    $("sure-text").textContent = `${name}: nothing new is begun; what runs is finished, and nothing is lost.`;
    $("sure").returnValue = "no";
    $("sure").showModal();
  });
  $("sure").addEventListener("close", async () => {
    if ($("sure").returnValue !== "yes") return;
    try {
      say((await (await call(`${run}:stop`, "POST")).json()).said);
    } catch (error) {
      say(error.message, true);
    }
  });

  listen(key ? `${DATA}/events?run=${encodeURIComponent(key)}` : `${DATA}/events`, take);
})();
