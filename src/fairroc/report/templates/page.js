"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const palette = data.palette;
  const colours = palette.groups;
  const thresholds = data.thresholds;
  const epsilons = data.frontier.epsilon;
  const fair = data.fair.map((groups) =>
    groups.map((g) => ({ fpr: g.fpr.map((x) => x / data.units), tpr: g.tpr.map((x) => x / data.units) })));
  const state = { threshold: data.start, epsilon: data.chosen };

  const short = (x) => String(Number(x.toPrecision(4)));
  const rate = (x) => x.toFixed(4);
  const percent = (x) => (100 * x).toFixed(1) + "%";
  // Plotly reads a little HTML in names: these are text.
  const plain = (name) => name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // What is shown of an epsilon, and of a gap: itself, or the ratio that it leaves.
  const told = (x) => (data.as_ratio ? Number((1 - x).toFixed(12)) : x);
  const range = (values) => Math.max(...values) - Math.min(...values);
  const apart = (values) => {
    const most = data.as_ratio ? Math.max(...values) : 1;
    return most > 0 ? range(values) / most : 0;
  };
  function gapAt(groups, i) {
    return Math.max(...data.corners.map((corner) => apart(groups.map((g, k) => corner[k][0] * g.fpr[i] + corner[k][1] * g.tpr[i]))));
  }
  const shareAt = (x, g, i) => data.priors[g] * x.tpr[i] + (1 - data.priors[g]) * x.fpr[i];
  const gapLine = (groups) => thresholds.map((_, i) => gapAt(groups, i));
  const gapBefore = gapLine(data.before);

  // ---- tables and words ------------------------------------------------------------------------------------

  function showRates() {
    const i = state.threshold;
    const after = fair[state.epsilon];
    const rows = byId("rates").tBodies[0].rows;
    data.names.forEach((_, g) => {
      const [b, a] = [data.before[g], after[g]];
      const cells = [percent(shareAt(b, g, i)), percent(shareAt(a, g, i)), rate(b.tpr[i]), rate(a.tpr[i]), rate(b.fpr[i]), rate(a.fpr[i])];
      cells.forEach((words, k) => { rows[g].cells[k + 1].textContent = words; });
    });
    const last = rows[data.names.length].cells;
    last[data.column + 1].textContent = rate(gapBefore[i]);
    last[data.column + 2].textContent = rate(gapAt(after, i));
    const both = [data.before, after];
    const lines = [(x, g) => shareAt(x, g, i), (x) => x.tpr[i], (x) => x.fpr[i]];
    lines.forEach((line, k) => both.forEach((groups, j) => {
      rows[data.names.length + 1].cells[2 * k + j + 1].textContent = rate(range(groups.map(line)));
    }));
  }

  function price() {
    const e = state.epsilon;
    const column = (name) => data.frontier[name][e];
    const fit = data.certificate;
    if (fit && fit.epsilon === epsilons[e]) {
      const ahead = data.new_people;
      return `Overall AUC ${rate(fit.auc_before)} → ${rate(fit.auc)} in the fit (at most ${rate(fit.auc_bound)}). ` +
        `New people: expect a ${data.words.gap} of ${told(ahead.gap_estimate).toFixed(3)} and an AUC of ${ahead.auc_estimate.toFixed(3)}.`;
    }
    const bound = column("auc_bound");
    return `Overall AUC ${rate(data.audit.auc)} → ${rate(column("auc"))}` +
      (bound === null ? "." : ` (at most ${rate(bound)}).`);
  }

  function say() {
    const i = state.threshold;
    const at = short(thresholds[i]);
    const epsilon = short(told(epsilons[state.epsilon]));
    const outside = data.window && (thresholds[i] < data.window[0] || thresholds[i] > data.window[1]);
    byId("threshold-value").textContent = at;
    byId("epsilon-value").textContent = epsilon;
    byId("rates-threshold").textContent = at;
    byId("rates-epsilon").textContent = epsilon;
    byId("threshold").setAttribute("aria-valuetext", "score at least " + at);
    byId("epsilon").setAttribute("aria-valuetext", data.words.allowed + " " + epsilon);
    byId("said").textContent = `Fitted people: at score ≥ ${at} the ${data.words.gap} is ${told(gapBefore[i]).toFixed(3)}; with ` +
      `${data.words.allowed} ${epsilon}, ${told(gapAt(fair[state.epsilon], i)).toFixed(3)}.` +
      `${outside ? " This threshold does not count." : ""} ${price()}`;
    document.querySelectorAll(".command-epsilon").forEach((place) => { place.textContent = epsilon; });
  }

  // ---- plots -----------------------------------------------------------------------------------------------

  const config = { responsive: true, displaylogo: false, displayModeBar: false };
  const font = { family: "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif", size: 13 };
  const axis = (title, more) =>
    Object.assign({ title: { text: title, standoff: 8 }, zeroline: false, gridcolor: palette.grid, automargin: true, fixedrange: true }, more);
  const legend = { orientation: "h", x: 0, yref: "container", y: 0, yanchor: "bottom", font: { size: 12 } };
  const layout = (x, y) => ({
    font, xaxis: x, yaxis: y, autosize: true, legend, margin: { l: 10, r: 10, t: 10, b: 10 },
    hovermode: "closest", paper_bgcolor: "#fff", plot_bgcolor: "#fff", dragmode: false,
  });

  function rocTraces() {
    const traces = [];
    data.names.forEach((_, g) => {
      const color = colours[g % colours.length];
      const name = plain(data.labels[g]);
      const line = (rates, kind, style, showlegend) => ({
        x: [...rates.fpr, 0], y: [...rates.tpr, 0], mode: "lines", name, showlegend, line: Object.assign({ color }, style),
        hovertemplate: "FPR %{x:.3f}<br>TPR %{y:.3f}<extra>" + name + ", " + kind + "</extra>",
      });
      traces.push(line(data.before[g], "original", { width: 1.6, dash: "6px,3px" }, false));
      traces.push(line(fair[state.epsilon][g], "fair", { width: 2.2 }, g < 8));
    });
    const dots = (symbol, name) => ({
      x: [], y: [], mode: data.names.length === 2 ? "lines+markers" : "markers", name, showlegend: false, line: { color: palette.level, width: 1 }, hoverinfo: "skip",
      marker: { size: 11, symbol, color: data.names.map((_, g) => colours[g % colours.length]), line: { width: 1.5 } },
    });
    return [...traces, dots("circle-open", "original"), dots("circle", "fair")];
  }

  // The place has the height and the plot fills it, whenever the window changes too.
  function draw(id, traces, places, height) {
    byId(id).style.height = height + "px";
    return Plotly.react(id, traces, places, config);
  }

  const dotsAt = (groups) => [groups.map((g) => g.fpr[state.threshold]), groups.map((g) => g.tpr[state.threshold])];

  function drawRoc() {
    const traces = rocTraces();
    const n = traces.length;
    [traces[n - 2].x, traces[n - 2].y] = dotsAt(data.before);
    [traces[n - 1].x, traces[n - 1].y] = dotsAt(fair[state.epsilon]);
    const height = 450 + 16 * Math.max(0, Math.min(data.names.length, 8) - 4);
    const unit = (title) => axis(title, { range: [-0.02, 1.02], dtick: 0.25 });
    return draw("roc-plot", traces, layout(unit("false positive rate"), unit("true positive rate")), height);
  }

  function drawGap() {
    const after = gapLine(fair[state.epsilon]);
    const epsilon = epsilons[state.epsilon];
    const line = (y, name, style) => ({
      x: thresholds, y, mode: "lines", name, line: style, hovertemplate: "score ≥ %{x:.4g}<br>gap %{y:.3f}<extra></extra>",
    });
    const at = thresholds[state.threshold];
    const traces = [
      line(gapBefore, "original score", { color: palette.original, width: 1.6, dash: "6px,3px" }),
      line(after, "fair score", { color: palette.fair, width: 2.2 }),
      { x: [thresholds[0], thresholds[thresholds.length - 1]], y: [epsilon, epsilon], mode: "lines", name: data.words.allowed,
        line: { color: palette.limit, width: 1.6, dash: "2px,3px" }, hoverinfo: "skip" },
      { x: [at, at], y: [gapBefore[state.threshold], after[state.threshold]], mode: "markers", showlegend: false,
        marker: { size: 10, color: [palette.original, palette.fair] }, hoverinfo: "skip" },
    ];
    const top = 1.05 * Math.max(...gapBefore, epsilon) || 1;
    const places = layout(axis("threshold"), axis("gap (" + data.words.formula + ")", { range: [-0.02 * top, top] }));
    places.shapes = [{ type: "line", x0: at, x1: at, yref: "paper", y0: 0, y1: 1, line: { color: palette.threshold, width: 1 } }];
    const [low, high] = data.window || [thresholds[0], thresholds[thresholds.length - 1]];
    [[thresholds[0], low], [high, thresholds[thresholds.length - 1]]].filter(([x0, x1]) => x0 < x1).forEach(([x0, x1]) => {
      places.shapes.push({ type: "rect", x0, x1, yref: "paper", y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: palette.level, opacity: 0.15 });
    });
    return draw("gap-plot", traces, places, 450);
  }

  function drawFrontier() {
    const column = data.frontier;
    const known = epsilons.map((_, i) => i).filter((i) => column.auc_bound[i] !== null);
    const hover = (data.as_ratio ? "1 - ratio" : "epsilon") + " %{x:.4g}<br>AUC %{y:.4f}<extra></extra>";
    const e = state.epsilon;
    const traces = [
      { x: epsilons, y: column.auc, mode: "lines+markers", name: "fair score, fitted people", marker: { size: 5 },
        line: { color: palette.fair, width: 2.2 }, hovertemplate: hover },
      { x: [epsilons[0], epsilons[epsilons.length - 1]], y: [data.audit.auc, data.audit.auc], mode: "lines",
        name: "original score", line: { color: palette.level, width: 1.4, dash: "6px,3px" }, hovertemplate: hover },
      { x: known.map((i) => epsilons[i]), y: known.map((i) => column.auc_bound[i]),
        mode: known.length === epsilons.length ? "lines" : "markers", marker: { size: 9, symbol: "triangle-down-open", color: palette.original },
        name: "no fair score exceeds", line: { color: palette.original, width: 1.6, dash: "2px,3px" }, hovertemplate: hover },
      { x: [epsilons[e]], y: [column.auc[e]], mode: "markers", name: data.words.allowed + " chosen",
        marker: { size: 12, color: palette.fair }, hovertemplate: hover },
    ];
    const fit = data.certificate;
    if (fit) {
      traces.push({ x: [fit.epsilon], y: [fit.auc], mode: "markers", name: "the fit", hovertemplate: hover,
        marker: { size: 11, color: palette.fit, symbol: "diamond" } });
      const ahead = data.new_people;
      traces.push({ x: [fit.epsilon], y: [ahead.auc_estimate], mode: "markers", name: "the fit, new people", hovertemplate: hover,
        error_y: { type: "data", array: [ahead.auc_standard_error], color: palette.fit, thickness: 1.6 },
        marker: { size: 11, color: palette.fit, symbol: "diamond-open", line: { width: 2 } } });
    }
    return draw("frontier-plot", traces, layout(axis(data.words.axis), axis("overall AUC")), 400);
  }

  function moveThreshold() {
    const at = thresholds[state.threshold];
    const after = fair[state.epsilon];
    const n = 2 * data.names.length;
    const [b, a] = [dotsAt(data.before), dotsAt(after)];
    Plotly.restyle("roc-plot", { x: [b[0], a[0]], y: [b[1], a[1]] }, [n, n + 1]);
    Plotly.update("gap-plot", { x: [[at, at]], y: [[gapBefore[state.threshold], gapAt(after, state.threshold)]] },
      { "shapes[0].x0": at, "shapes[0].x1": at }, [3]);
  }

  let waiting = false;
  function later(draw) {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function start() {
    document.documentElement.classList.add("scripted");
    const sliders = [byId("threshold"), byId("epsilon")];
    sliders[0].value = state.threshold;
    sliders[1].value = state.epsilon;
    const all = () => { drawRoc(); drawGap(); drawFrontier(); };
    let redraw = moveThreshold;
    const moved = () => {
      const before = state.epsilon;
      [state.threshold, state.epsilon] = sliders.map((slider) => Number(slider.value));
      if (before !== state.epsilon) redraw = all;
      showRates();
      say();
      later(() => { redraw(); redraw = moveThreshold; });
    };
    sliders.forEach((slider) => slider.addEventListener("input", moved));
    showRates();
    say();
    document.documentElement.classList.add("plotted");
    all();
    // On paper the plots have the width of the page, and come back afterwards.
    const plots = ["roc-plot", "gap-plot", "frontier-plot"];
    const details = document.querySelector("details");
    let open = false;
    window.addEventListener("beforeprint", () => {
      open = details.open;
      details.open = true;
      plots.forEach((id) => {
        byId(id).style.height = "330px";
        Plotly.relayout(id, { autosize: false, width: id === "frontier-plot" ? 620 : 325, height: 330 });
      });
    });
    window.addEventListener("afterprint", () => {
      details.open = open;
      all();
      plots.forEach((id) => Plotly.relayout(id, { autosize: true, width: null, height: null }));
    });
  }

  start();
}());
