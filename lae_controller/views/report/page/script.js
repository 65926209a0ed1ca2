"use strict";
(() => {
  // What is shown: the figures and the columns of all children, as make.py writes them.
  let data = { figures: {}, children: null, metric: "" };
  const root = document.documentElement;

  // -- colours -----------------------------------------------------------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const button = document.getElementById("theme");

  function nameButton() {
    button.textContent = isDark() ? "Light page" : "Dark page";
    button.setAttribute("aria-pressed", String(isDark()));
  }

  // A string that begins with @ names a variable of the style sheet.
  function coloured(value, style) {
    if (typeof value === "string" && value[0] === "@") {
      return style.getPropertyValue("--" + value.slice(1)).trim();
    }
    if (Array.isArray(value)) {
      const plain = typeof value[0] === "number" && typeof value[1] !== "string";
      return plain || value.length > 100 ? value : value.map((item) => coloured(item, style));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) =>
          [key, key === "text" && typeof item === "string" ? item : coloured(item, style)]));
    }
    return value;
  }

  // -- charts ------------------------------------------------------------------------------------

  const coarse = matchMedia("(pointer: coarse)").matches;
  const chosen = {};
  const drawn = new Map(); // place -> the figure as it was drawn there

  function axis(given, style) {
    const line = style.getPropertyValue("--line").trim();
    return {
      gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, ...given,
      title: { ...given.title, standoff: 8 },
    };
  }

  const namedIn = (figure) =>
    figure.traces.filter((trace) => trace.name && trace.showlegend !== false).length;

  // On a narrow page the names stand one below the other, which must not take from the chart.
  function heightOf(place, figure) {
    const more = place.clientWidth < 480 && figure.layout.showlegend !== false
      ? 19 * Math.max(0, namedIn(figure) - 1) : 0;
    return Number(place.dataset.height) + more;
  }

  function layoutOf(figure, style, width) {
    const get = (name) => style.getPropertyValue("--" + name).trim();
    const given = coloured(figure.layout, style);
    const axes = Object.fromEntries(
      Object.keys(given).filter((key) => /^[xy]axis/.test(key))
        .map((key) => [key, axis(given[key], style)]));
    return {
      ...given, ...axes,
      ...(given.title ? { title: { ...given.title, font: { size: 14 }, x: 0, xanchor: "left" } } : {}),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: get("ink"), family: "system-ui, sans-serif", size: 13 },
      hoverlabel: { bgcolor: get("raised"), bordercolor: get("muted"), font: { color: get("ink") },
        align: "left" },
      hovermode: "closest", dragmode: coarse ? false : "zoom",
      showlegend: given.showlegend ?? namedIn(figure) > 0,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: get("muted"), activecolor: get("accent") },
      margin: { l: 60, r: 16, t: given.title ? 56 : 34, b: 48 },
      autosize: true, width, uirevision: "kept", // what a reader zoomed into stays when data come in
    };
  }

  function tracesOf(figure, unit, style) {
    return figure.traces.map(({ xs, ...trace }) => {
      const shown = xs && unit && xs[unit] ? { ...trace, x: xs[unit] } : trace;
      return { cliponaxis: trace.type === "scatter" ? false : undefined, ...coloured(shown, style) };
    });
  }

  function draw(place) {
    const key = place.dataset.figure;
    const figure = data.figures[key];
    const style = getComputedStyle(root);
    const layout = layoutOf(figure, style);
    const unit = chosen[key];
    if (unit) {
      const { dtick, ...xaxis } = layout.xaxis; // whole steps are for what is counted
      layout.xaxis = { ...xaxis, ...(unit === "evaluations" ? { dtick } : {}),
        title: { text: figure.units[unit], standoff: 8 } };
    }
    // Where there is little room the buttons would lie on title and legend.
    const config = { responsive: true, displaylogo: false,
      displayModeBar: place.clientWidth >= 620,
      // Named one by one: plotly's own choice holds a button that sends the chart away.
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { filename: "lae-" + key, scale: 2 } };
    drawn.set(place, figure);
    place.style.height = heightOf(place, figure) + "px";
    return Plotly.react(place, tracesOf(figure, unit, style), layout, config)
      .then(() => { place.dataset.drawn = "yes"; });
  }

  const places = () => [...document.querySelectorAll(".plot")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  const drawAll = () => Promise.all(places().filter((place) => !drawn.has(place)).map(draw));
  addEventListener("beforeprint", drawAll);
  const redraw = () => { nameButton(); [...drawn.keys()].forEach(draw); };

  // Places that were drawn are drawn anew if their figure is another; the others when they are seen.
  function drawPlaces() {
    for (const place of drawn.keys()) {
      if (!place.isConnected) { Plotly.purge(place); drawn.delete(place); }
    }
    for (const place of places()) {
      place.style.height = heightOf(place, data.figures[place.dataset.figure]) + "px";
      if (!drawn.has(place)) watcher.observe(place);
      else if (drawn.get(place) !== data.figures[place.dataset.figure]) draw(place);
    }
  }

  document.addEventListener("change", (event) => {
    const group = event.target.closest(".units");
    if (!group) return;
    chosen[group.dataset.figure] = event.target.value;
    places().filter((place) => place.dataset.figure === group.dataset.figure).forEach(draw);
  });
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  dark.addEventListener("change", redraw);
  nameButton();

  // -- the table of all children -----------------------------------------------------------------

  const SIZE = 50;
  let all = null;
  const number = (value) => (value === null ? "-" : String(Number(value.toPrecision(6))));
  const signed = (value) => (value === null ? "-" : (value > 0 ? "+" : "") + Number(value.toPrecision(4)));
  const everyColumn = () => [
    ["child", (i) => all.id[i], (i) => i],
    [data.metric, (i) => number(all.metric[i]), (i) => all.metric[i]],
    ["change", (i) => signed(all.change[i]), (i) => all.change[i]],
    ["outcome", (i) => all.outcomes[all.outcome[i]], (i) => all.outcomes[all.outcome[i]]],
    ["kind", (i) => all.kinds[all.kind[i]], (i) => all.kinds[all.kind[i]]],
    ["parent", (i) => (all.parent[i] < 0 ? "-" : all.id[all.parent[i]]), (i) => all.parent[i]],
    ["runs", (i) => all.runs[i].toFixed(2), (i) => all.runs[i]],
    ["training, s", (i) => all.seconds[i].toFixed(1), (i) => all.seconds[i]],
    ["USD", (i) => (all.usd[i] ? all.usd[i].toFixed(4) : "-"), (i) => all.usd[i]],
    ["what", (i) => all.summary[i], (i) => all.summary[i]],
  ];
  let columns = [];
  let table = null;
  let filters = null;
  let page = 0;
  let sorted = { column: 0, down: false };
  let shown = [];

  // Once, when the first children are there.
  function setUpTable() {
    table = document.getElementById("listing");
    filters = document.getElementById("filters");
    columns = everyColumn();
    columns.forEach(([name], column) => table.tHead.rows[0].append(headOf(name, column)));
    document.getElementById("previous").addEventListener("click", () => { page -= 1; fill(); });
    document.getElementById("next").addEventListener("click", () => { page += 1; fill(); });
    filters.addEventListener("input", () => { page = 0; arrange(); });
    filters.addEventListener("submit", (event) => event.preventDefault());
  }

  // Words stand at the left of their column, numbers at the right.
  const kindOf = (name) =>
    name === "what" ? "text" : ["outcome", "kind", "parent"].includes(name) ? "word" : "";

  function headOf(name, column) {
    const head = document.createElement("th");
    head.scope = "col";
    head.className = kindOf(name);
    const sorter = document.createElement("button");
    sorter.type = "button";
    sorter.textContent = name;
    sorter.addEventListener("click", () => {
      sorted = { column, down: sorted.column === column ? !sorted.down : column > 0 };
      page = 0;
      arrange();
    });
    head.append(sorter);
    return head;
  }

  function offer(name, words) {
    const list = filters.elements[name];
    const known = new Set([...list.options].map((option) => option.value));
    for (const word of [...words].sort()) {
      if (!known.has(word)) list.append(new Option(word, word));
    }
  }

  function compare(key, sign) {
    return (i, j) => {
      const [a, b] = [key(i), key(j)];
      if (a === null || b === null) return (a === null) - (b === null) || i - j;
      return (a < b ? -sign : a > b ? sign : 0) || i - j;
    };
  }

  function arrange() {
    const text = filters.elements.text.value.trim().toLowerCase();
    const outcome = all.outcomes.indexOf(filters.elements.outcome.value);
    const kind = all.kinds.indexOf(filters.elements.kind.value);
    shown = all.id.map((_, i) => i).filter((i) =>
      (outcome < 0 || all.outcome[i] === outcome) && (kind < 0 || all.kind[i] === kind) &&
      (!text || all.id[i].includes(text) || all.summary[i].toLowerCase().includes(text)));
    shown.sort(compare(columns[sorted.column][2], sorted.down ? -1 : 1));
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (column === sorted.column) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    fill();
  }

  function nameOf(id) {
    if (!document.body.dataset.live) return id;
    const opener = document.createElement("button");
    Object.assign(opener, { type: "button", className: "name", textContent: id });
    opener.dataset.program = id;
    return opener;
  }

  function fill() {
    const pages = Math.max(1, Math.ceil(shown.length / SIZE));
    page = Math.min(page, pages - 1);
    const money = all.usd.some((value) => value > 0);
    const body = table.tBodies[0];
    const rows = shown.slice(page * SIZE, (page + 1) * SIZE).map((i) => {
      const row = document.createElement("tr");
      columns.forEach(([name, text], column) => {
        const cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        cell.className = kindOf(name);
        cell.hidden = name === "USD" && !money;
        cell.append(column ? text(i) : nameOf(text(i)));
        row.append(cell);
      });
      return row;
    });
    const held = body.contains(document.activeElement) && document.activeElement.dataset.program;
    body.replaceChildren(...rows);
    if (held) body.querySelector(`[data-program="${CSS.escape(held)}"]`)?.focus();
    columns.forEach(([name], column) => {
      table.tHead.rows[0].cells[column].hidden = name === "USD" && !money;
    });
    document.getElementById("listing-caption").textContent =
      `${shown.length} of ${all.id.length} programs, the baseline included. The names of the columns sort.`;
    document.getElementById("page").textContent = `${page + 1} of ${pages}`;
    document.getElementById("previous").disabled = page === 0;
    document.getElementById("next").disabled = page >= pages - 1;
  }

  // Show these data in the page as it stands; a figure that is as before keeps its identity.
  function show(fresh) {
    for (const [key, figure] of Object.entries(fresh.figures)) {
      const known = data.figures[key];
      if (known && JSON.stringify(known) === JSON.stringify(figure)) fresh.figures[key] = known;
    }
    data = fresh;
    drawPlaces();
    all = data.children;
    if (!table) setUpTable();
    offer("outcome", all.outcomes);
    offer("kind", all.kinds);
    arrange();
  }

  const embedded = document.getElementById("data");
  if (embedded) show(JSON.parse(embedded.textContent));

  window.report = { drawAll, show };
})();
