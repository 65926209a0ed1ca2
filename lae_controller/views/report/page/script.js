"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
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
  const drawn = new Set();

  function axis(given, style) {
    const line = style.getPropertyValue("--line").trim();
    return {
      gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, ...given,
      title: { ...given.title, standoff: 8 },
    };
  }

  function layoutOf(figure, style, width) {
    const get = (name) => style.getPropertyValue("--" + name).trim();
    const given = coloured(figure.layout, style);
    const axes = Object.fromEntries(
      Object.keys(given).filter((key) => /^[xy]axis/.test(key))
        .map((key) => [key, axis(given[key], style)]));
    const named = figure.traces.filter((trace) => trace.name && trace.showlegend !== false).length;
    return {
      ...given, ...axes,
      ...(given.title ? { title: { ...given.title, font: { size: 14 }, x: 0, xanchor: "left" } } : {}),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: get("ink"), family: "system-ui, sans-serif", size: 13 },
      hoverlabel: { bgcolor: get("raised"), bordercolor: get("muted"), font: { color: get("ink") },
        align: "left" },
      hovermode: "closest", dragmode: coarse ? false : "zoom",
      showlegend: given.showlegend ?? named > 0,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      margin: { l: 60, r: 16, t: given.title ? 56 : 34, b: 48 },
      autosize: true, width,
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
    if (unit) layout.xaxis = { ...layout.xaxis, title: { text: figure.units[unit], standoff: 8 } };
    const config = { responsive: true, displaylogo: false,
      // Named one by one: plotly's own choice holds a button that sends the chart away.
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { filename: "lae-" + key, scale: 2 } };
    drawn.add(place);
    return Plotly.react(place, tracesOf(figure, unit, style), layout, config)
      .then(() => { place.dataset.drawn = "yes"; });
  }

  const places = [...document.querySelectorAll(".plot")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  places.forEach((place) => watcher.observe(place));
  const drawAll = () => Promise.all(places.filter((place) => !drawn.has(place)).map(draw));
  addEventListener("beforeprint", drawAll);
  const redraw = () => { nameButton(); drawn.forEach(draw); };

  for (const group of document.querySelectorAll(".units")) {
    group.addEventListener("change", (event) => {
      chosen[group.dataset.figure] = event.target.value;
      places.filter((place) => place.dataset.figure === group.dataset.figure).forEach(draw);
    });
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  dark.addEventListener("change", redraw);
  nameButton();

  // -- the table of all children -----------------------------------------------------------------

  const SIZE = 50;
  const all = data.children;
  const number = (value) => (value === null ? "-" : String(Number(value.toPrecision(6))));
  const signed = (value) => (value === null ? "-" : (value > 0 ? "+" : "") + Number(value.toPrecision(4)));
  const columns = [
    ["child", (i) => all.id[i], (i) => i],
    [data.metric, (i) => number(all.metric[i]), (i) => all.metric[i]],
    ["change", (i) => signed(all.change[i]), (i) => all.change[i]],
    ["outcome", (i) => all.outcomes[all.outcome[i]], (i) => all.outcomes[all.outcome[i]]],
    ["kind", (i) => all.kinds[all.kind[i]], (i) => all.kinds[all.kind[i]]],
    ["parent", (i) => (all.parent[i] < 0 ? "-" : all.id[all.parent[i]]), (i) => all.parent[i]],
    ["runs", (i) => all.runs[i].toFixed(2), (i) => all.runs[i]],
    ["training, s", (i) => all.seconds[i].toFixed(1), (i) => all.seconds[i]],
    ["USD", (i) => all.usd[i].toFixed(4), (i) => all.usd[i]],
    ["what", (i) => all.summary[i], (i) => all.summary[i]],
  ].filter(([name]) => name !== "USD" || all.usd.some((value) => value > 0));
  const table = document.getElementById("listing");
  const filters = document.getElementById("filters");
  const previous = document.getElementById("previous");
  const next = document.getElementById("next");
  let page = 0;
  let sorted = { column: 0, down: false };
  let shown = [];

  for (const [name, words] of [["outcome", all.outcomes], ["kind", all.kinds]]) {
    for (const word of [...words].sort()) filters.elements[name].append(new Option(word, word));
  }
  columns.forEach(([name], column) => {
    const head = document.createElement("th");
    head.scope = "col";
    if (name === "what") head.className = "text";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      sorted = { column, down: sorted.column === column ? !sorted.down : column > 0 };
      arrange();
    });
    head.append(button);
    table.tHead.rows[0].append(head);
  });

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
    page = 0;
    fill();
  }

  function fill() {
    const body = table.tBodies[0];
    const rows = shown.slice(page * SIZE, (page + 1) * SIZE).map((i) => {
      const row = document.createElement("tr");
      columns.forEach(([name, text], column) => {
        const cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        if (name === "what") cell.className = "text";
        cell.textContent = text(i);
        row.append(cell);
      });
      return row;
    });
    body.replaceChildren(...rows);
    const pages = Math.max(1, Math.ceil(shown.length / SIZE));
    document.getElementById("listing-caption").textContent =
      `${shown.length} of ${all.id.length} programs, the baseline included. The names of the columns sort.`;
    document.getElementById("page").textContent = `${page + 1} of ${pages}`;
    previous.disabled = page === 0;
    next.disabled = page >= pages - 1;
  }

  previous.addEventListener("click", () => { page -= 1; fill(); });
  next.addEventListener("click", () => { page += 1; fill(); });
  filters.addEventListener("input", arrange);
  filters.addEventListener("submit", (event) => event.preventDefault());
  arrange();

  window.report = { drawAll };
})();
