"use strict";
// Draws the figures of a report as SVG and keeps them, the tables and the words in step with the controls.
// Everything from the data goes into the page as text or as an attribute, never as markup.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const unpacked = (groups) => groups.map((rates) => {
    const [fpr, tpr, drawn] = rates.map((line) => line.map((x) => x / data.units));
    return { fpr, tpr, drawn };
  });
  const before = unpacked(data.before);
  const fair = data.fair.map(unpacked);
  const { thresholds, labels, words } = data;
  const epsilons = data.frontier.epsilon;
  const state = { threshold: data.start, epsilon: data.chosen, group: null };
  const SEVERAL = 4; // with more groups: small multiples, and labels for some curves only
  const CHIPS = 12; // with more groups: a list to choose from instead of buttons

  // ---- numbers -------------------------------------------------------------------------------------------------

  const short = (x) => String(Number(x.toPrecision(4)));
  const rate = (x) => x.toFixed(3);
  const percent = (x) => (100 * x).toFixed(1) + "%";
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  // What is shown of an epsilon, and of a gap: itself, or the ratio that it leaves.
  const told = (x) => (data.as_ratio ? Number((1 - x).toFixed(12)) : x);
  const range = (values) => Math.max(...values) - Math.min(...values);
  const apart = (low, high) => (data.as_ratio ? (high > 0 ? 1 - low / high : 0) : high - low);
  const cornersAt = (groups, i) =>
    data.corners.map((corner) => groups.map((g, k) => corner[k][0] * g.fpr[i] + corner[k][1] * g.tpr[i]));
  const gapAt = (groups, i) =>
    Math.max(...cornersAt(groups, i).map((values) => apart(Math.min(...values), Math.max(...values))));
  const gapOf = (groups, g, i) => Math.max(...cornersAt(groups, i).map((values) =>
    Math.max(apart(values[g], Math.max(...values)), apart(Math.min(...values), values[g]))));
  const gapLine = (groups) => thresholds.map((_, i) => gapAt(groups, i));
  const gapBefore = gapLine(before);
  const shareAt = (x, g, i) => data.priors[g] * x.tpr[i] + (1 - data.priors[g]) * x.fpr[i];
  const after = () => fair[state.epsilon];
  const drawnAt = (i) => after().reduce((sum, line, g) => sum + data.shares[g] * line.drawn[i], 0);

  // All people together, for small multiples.
  const pooled = ["fpr", "tpr"].map((name) => {
    const mass = labels.map((_, g) => data.shares[g] * (name === "tpr" ? data.priors[g] : 1 - data.priors[g]));
    const whole = mass.reduce((sum, x) => sum + x, 0);
    return thresholds.map((_, i) => before.reduce((sum, line, g) => sum + mass[g] * line[name][i], 0) / whole);
  });
  const overall = { fpr: pooled[0], tpr: pooled[1] };

  // ---- SVG -----------------------------------------------------------------------------------------------------

  const MARKS = [
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0", "m-4 -4h8v8h-8z", "m0 -5.8l5.8 5.8l-5.8 5.8l-5.8 -5.8z",
    "m0 -5l5.4 9h-10.8z", "m0 5l5.4 -9h-10.8z",
  ];
  const DASHES = ["none", "8 3", "2 2.5", "9 3 2 3", "14 4"];
  const colour = (g) => `var(--g${g % 8})`;
  const dash = (g) => DASHES[g % DASHES.length];
  const mark = (g) => MARKS[g % MARKS.length];

  function svg(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  }
  function html(name, attributes, ...children) {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  }
  const way = (places) => places.map(([x, y], k) => (k ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");
  const drawn = (places, stroke, width, dashes, more) => svg("path", {
    d: way(places), fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dashes || "none", ...more });
  const dot = ([x, y], shape, paint, more) => svg("path", {
    d: `M${x.toFixed(1)} ${y.toFixed(1)}${shape}`, fill: paint, stroke: "var(--paper)", "stroke-width": 1, ...more });
  const sample = (g) => svg("svg", { viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true", class: "sample" },
    drawn([[0, 7], [30, 7]], colour(g), 2.4, dash(g)), dot([15, 7], mark(g), colour(g)));

  function ticks(low, high) {
    const width = high - low;
    if (!(width / 3 > 0 && width < Infinity)) return [low];
    const power = 10 ** Math.floor(Math.log10(width / 3));
    const step = power * ([5, 2.5, 2].find((part) => part * power <= width / 3) || 1);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i += 1) found.push(Number((i * step).toPrecision(10)));
    return found;
  }

  // A place for a label near its line, away from all lines and from labels that have one already.
  const OFFSETS = [[9, 15, "start"], [-9, -7, "end"], [0, -9, "middle"], [0, 19, "middle"],
    [22, 32, "start"], [-20, -20, "end"], [34, 52, "start"], [46, 74, "start"], [58, 96, "start"]];
  function dense(places) {
    const found = [];
    places.forEach(([x, y], k) => {
      const [px, py] = places[Math.max(k - 1, 0)];
      const steps = Math.max(1, Math.ceil(Math.hypot(x - px, y - py) / 5));
      for (let s = 1; s <= steps; s += 1) found.push([px + ((x - px) * s) / steps, py + ((y - py) * s) / steps]);
    });
    return found;
  }
  function labelled(text, places, obstacles, taken, frame, group) {
    const icon = group === undefined ? 0 : 14;
    const wide = 6.9 * text.length + 4 + icon;
    const own = dense(places);
    const reach = (points, x, y) => Math.min(...points.map(([px, py]) => Math.hypot(px - x, py - y)));
    let best = null;
    [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9, 0.03, 0.97].forEach((share, rank) => {
      const [x, y] = own[Math.round(share * (own.length - 1))];
      OFFSETS.forEach(([dx, dy, anchor]) => {
        const left = x + dx - { start: 0, middle: wide / 2, end: wide }[anchor];
        const box = [left, y + dy - 12, left + wide, y + dy + 3];
        if (box[0] < frame[0] || box[1] < frame[1] || box[2] > frame[2] || box[3] > frame[3]) return;
        const hits = obstacles.filter(([px, py]) => px > box[0] - 3 && px < box[2] + 3 && py > box[1] - 2 && py < box[3] + 2).length;
        const over = taken.filter((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]).length;
        const middle = [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
        const astray = reach(own, ...middle) > reach(obstacles, ...middle) + 1 ? 30 : 0; // nearer to another line
        const cost = 4 * hits + 400 * over + astray + Math.hypot(dx, dy) / 8 + rank / 2;
        if (!best || cost < best.cost) best = { cost, box, anchor, from: [x, y], at: [x + dx, y + dy] };
      });
    });
    if (!best) return [];
    taken.push(best.box);
    const far = Math.hypot(best.at[0] - best.from[0], best.at[1] - best.from[1]) > 22;
    const end = [best.at[0] + (best.anchor === "start" ? -3 : best.anchor === "end" ? 3 : 0), best.at[1] - 4];
    const [left, base] = [best.box[0] + icon, best.at[1]];
    return [
      ...(far ? [drawn([best.from, end], "var(--rule)", 1)] : []),
      svg("text", { x: left.toFixed(1), y: base.toFixed(1), class: "label" }, text),
      ...(icon ? [dot([left - 8, base - 4.5], mark(group), colour(group))] : []),
    ];
  }

  // Axes, grid and whatever `inside` draws, at the width of the place; `at` maps numbers to pixels.
  function chart(place, height, x, y, inside) {
    const wide = Math.max(place.host.clientWidth, 240);
    const [left, right, top, bottom] = [54, 12, 10, 42];
    const [inner, tall] = [wide - left - right, height - top - bottom];
    const part = (axis, value) => (axis.high > axis.low ? (value - axis.low) / (axis.high - axis.low) : 0.5);
    const at = ([a, b]) => [left + inner * part(x, a), top + tall * (1 - part(y, b))];
    const lines = [
      ...ticks(x.low, x.high).map((t) => [at([t, y.low]), at([t, y.high])]),
      ...ticks(y.low, y.high).map((t) => [at([x.low, t]), at([x.high, t])]),
    ];
    const frame = [left, top, wide - right, height - bottom];
    place.svg.setAttribute("viewBox", `0 0 ${wide} ${height}`);
    place.svg.replaceChildren(
      svg("path", { d: lines.map(way).join(""), fill: "none", stroke: "var(--grid)" }),
      ...ticks(x.low, x.high).map((t) => svg("text", { x: at([t, y.low])[0].toFixed(1), y: height - bottom + 17, "text-anchor": "middle" }, short(t))),
      ...ticks(y.low, y.high).map((t) => svg("text", { x: left - 6, y: (at([x.low, t])[1] + 4).toFixed(1), "text-anchor": "end" }, short(t))),
      svg("text", { x: left + inner / 2, y: height - 6, "text-anchor": "middle", class: "axis" }, x.title),
      svg("text", { x: 12, y: top + tall / 2, "text-anchor": "middle", class: "axis", transform: `rotate(-90 12 ${top + tall / 2})` }, y.title),
      ...inside(at, frame),
    );
    place.at = at;
    place.frame = frame;
    place.wide = wide;
  }

  // ---- places of figures: value on hover, on touch and on focus ------------------------------------------------

  const places = {};
  function addPlace(id, name, nearest, act, keys) {
    const host = byId(id);
    const place = { host, svg: svg("svg", { role: "img", tabindex: 0, "aria-label": name }), tip: html("div", { class: "tip", "aria-hidden": "true" }) };
    host.append(place.svg, place.tip);
    place.show = (found) => {
      place.svg.querySelectorAll(".ring").forEach((ring) => ring.remove());
      place.tip.classList.toggle("on", Boolean(found));
      if (!found) return;
      place.svg.append(...found.rings.map(([x, y]) => svg("circle", { class: "ring", cx: x, cy: y, r: 8 })));
      place.tip.replaceChildren(...found.lines.map((line, k) => html(k ? "span" : "strong", {}, line)));
      const scale = place.svg.clientWidth / place.wide;
      const [x, y] = found.rings[0];
      place.tip.style.left = clamp(x * scale + 14, 0, Math.max(host.clientWidth - place.tip.offsetWidth, 0)) + "px";
      place.tip.style.top = Math.max(y * scale - place.tip.offsetHeight - 12, 0) + "px";
    };
    const pointed = (event) => {
      const box = place.svg.getBoundingClientRect();
      const scale = place.wide / box.width;
      return nearest(place, [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale]);
    };
    place.svg.addEventListener("pointermove", (event) => place.show(pointed(event)));
    place.svg.addEventListener("pointerleave", () => place.show(null));
    place.svg.addEventListener("click", (event) => { act(pointed(event)); });
    place.svg.addEventListener("blur", () => place.show(null));
    place.svg.addEventListener("focus", () => { if (place.svg.matches(":focus-visible")) place.show(nearest(place, null)); });
    place.svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(keys, step);
      place.show(nearest(place, null));
    });
    places[id] = place;
  }
  const closest = (count, far) => { // which of so many is nearest, and how far it is
    let best = [Infinity, 0];
    for (let i = 0; i < count; i += 1) { const d = far(i); if (d < best[0]) best = [d, i]; }
    return best;
  };
  const shownGroups = () => labels.map((_, g) => g).filter((g) => state.group === null || state.group === g);

  // ---- figures -------------------------------------------------------------------------------------------------

  const unit = (title) => ({ low: 0, high: 1, title });
  const curve = (line) => [...line.fpr.map((x, i) => [x, line.tpr[i]]), [0, 0]];

  // Labels of all curves where they are few; else of the group chosen, or of the two furthest apart at the threshold.
  function named(groups) {
    if (state.group !== null) return [state.group];
    if (labels.length <= SEVERAL) return labels.map((_, g) => g);
    const gaps = labels.map((_, g) => gapOf(groups, g, state.threshold));
    return labels.map((_, g) => g).sort((a, b) => gaps[b] - gaps[a]).slice(0, 2);
  }

  function drawRoc(id, groups) {
    const place = places[id];
    chart(place, clamp(place.host.clientWidth * 0.86, 270, 420), unit("false positive rate"), unit("true positive rate"), (at, frame) => {
      const lines = groups.map((line) => curve(line).map(at));
      const telling = new Set(named(groups));
      const faded = (g) => (state.group !== null || labels.length > CHIPS) && !telling.has(g);
      const order = labels.map((_, g) => g).sort((a, b) => faded(b) - faded(a));
      const obstacles = lines.filter((_, g) => !faded(g)).flatMap(dense);
      const dots = groups.map((line) => at([line.fpr[state.threshold], line.tpr[state.threshold]]));
      dots.forEach((place_) => { for (let k = 0; k < 6; k += 1) obstacles.push(place_); });
      const taken = [];
      return [
        drawn([at([0, 0]), at([1, 1])], "var(--chance)", 1),
        ...order.map((g) => drawn(lines[g], faded(g) ? "var(--rule)" : colour(g), faded(g) ? 1 : 2.2, dash(g), { "data-group": g, opacity: faded(g) ? 0.45 : 1 })),
        ...order.filter((g) => !faded(g)).map((g) => dot(dots[g], mark(g), colour(g), { class: "at", "data-group": g })),
        ...[...telling].flatMap((g) => labelled(labels[g], lines[g], obstacles, taken, frame, g)),
      ];
    });
  }

  function nearCurve(groups) {
    return (place, point) => {
      const target = point || place.at([groups()[state.group ?? 0].fpr[state.threshold], groups()[state.group ?? 0].tpr[state.threshold]]);
      let best = null;
      shownGroups().forEach((g) => {
        const line = groups()[g];
        const [far, i] = closest(thresholds.length, (k) => {
          const [x, y] = place.at([line.fpr[k], line.tpr[k]]);
          return Math.hypot(x - target[0], y - target[1]);
        });
        if (!best || far < best.far) best = { far, g, i };
      });
      if (best.far > 40) return null;
      const line = groups()[best.g];
      const i = point ? best.i : state.threshold;
      return { group: best.g, rings: [place.at([line.fpr[i], line.tpr[i]])], lines: [
        labels[best.g], `score ≥ ${short(thresholds[i])}`, `TPR ${rate(line.tpr[i])}, FPR ${rate(line.fpr[i])}`,
        `${percent(shareAt(line, best.g, i))} ${words.selected}`,
      ] };
    };
  }

  const epsilonWords = () => `${words.allowed} ${short(told(epsilons[state.epsilon]))}`;

  function drawGap() {
    const place = places["gap-plot"];
    const line = gapLine(after());
    const epsilon = epsilons[state.epsilon];
    const top = 1.08 * Math.max(...gapBefore, ...line, epsilon) || 1;
    const ends = [thresholds[0], thresholds[thresholds.length - 1]];
    const one = state.group === null ? null : [before, after()].map((groups) => thresholds.map((_, i) => gapOf(groups, state.group, i)));
    chart(place, clamp(place.host.clientWidth * 0.4, 260, 330), { low: ends[0], high: ends[1], title: "threshold (score ≥)" },
      { low: 0, high: top, title: "gap" }, (at, frame) => {
        const [old, fresh] = [gapBefore, line].map((gaps) => gaps.map((gap, i) => at([thresholds[i], gap])));
        const limit = [at([ends[0], epsilon]), at([ends[1], epsilon])];
        const own = one && one.map((gaps) => gaps.map((gap, i) => at([thresholds[i], gap])));
        const grey = !data.window ? [] : [[ends[0], data.window[0]], [data.window[1], ends[1]]].filter(([a, b]) => a < b);
        const here = thresholds[state.threshold];
        const obstacles = [old, fresh, limit, ...(own || [])].flatMap(dense);
        const taken = [];
        const soft = own ? { opacity: 0.45 } : {};
        return [
          ...grey.map(([a, b]) => {
            const [[x0, y0], [x1, y1]] = [at([a, top]), at([b, 0])];
            return svg("rect", { class: "outside", x: x0, y: y0, width: x1 - x0, height: y1 - y0 });
          }),
          drawn([at([here, 0]), at([here, top])], "var(--threshold)", 1.2),
          drawn(limit, "var(--limit)", 1.6, "2 3"),
          drawn(old, "var(--original)", 1.8, "6 3", soft),
          drawn(fresh, "var(--fair)", 2.4, "none", soft),
          ...(own ? [drawn(own[0], colour(state.group), 1.8, "6 3"), drawn(own[1], colour(state.group), 2.4)] : []),
          dot(at([here, gapBefore[state.threshold]]), MARKS[1], "var(--original)", { class: "at" }),
          dot(at([here, line[state.threshold]]), MARKS[0], "var(--fair)", { class: "at" }),
          ...labelled("original score", old, obstacles, taken, frame),
          ...labelled("fair score", fresh, obstacles, taken, frame),
          ...labelled(epsilonWords(), limit, obstacles, taken, frame),
          ...(own ? labelled(labels[state.group], own[0], obstacles, taken, frame, state.group) : []),
        ];
      });
  }

  function nearThreshold(place, point) {
    const i = point ? closest(thresholds.length, (k) => Math.abs(place.at([thresholds[k], 0])[0] - point[0]))[1] : state.threshold;
    const gaps = [gapBefore[i], gapAt(after(), i)];
    return { threshold: i, rings: gaps.map((gap) => place.at([thresholds[i], gap])), lines: [
      `score ≥ ${short(thresholds[i])}`, `original: ${words.gap} ${rate(told(gaps[0]))}`, `fair: ${words.gap} ${rate(told(gaps[1]))}`,
    ] };
  }

  function drawFrontier() {
    const place = places["frontier-plot"];
    const { auc, auc_bound: bound } = data.frontier;
    const known = epsilons.map((_, i) => i).filter((i) => bound[i] !== null);
    const ends = data.new ? [data.new.auc - data.new.error, data.new.auc + data.new.error] : [];
    const heights = [...auc, ...known.map((i) => bound[i]), data.auc, ...(data.fit ? [data.fit.auc] : []), ...ends];
    const room = 0.1 * range(heights) || 0.01;
    const y = { low: Math.min(...heights) - room, high: Math.max(...heights) + room, title: "overall AUC" };
    const x = { low: 0, high: epsilons[epsilons.length - 1], title: words.axis };
    chart(place, clamp(place.host.clientWidth * 0.42, 270, 340), x, y, (at, frame) => {
      const line = auc.map((height, i) => at([epsilons[i], height]));
      const limits = known.map((i) => at([epsilons[i], bound[i]]));
      const level = [at([x.low, data.auc]), at([x.high, data.auc])];
      const whole = known.length === epsilons.length;
      const e = state.epsilon;
      const obstacles = [line, limits, level].flatMap(dense);
      const taken = [];
      const upright = at([epsilons[e], y.low])[0];
      obstacles.push(...dense([[upright, frame[1]], [upright, frame[3]]]));
      const marked = [];
      if (data.fit) {
        const fit = at([data.fit.epsilon, data.fit.auc]);
        const [low, high, middle] = [...ends, data.new.auc].map((height) => at([data.fit.epsilon, height]));
        for (let k = 0; k < 8; k += 1) obstacles.push(fit, middle);
        obstacles.push(...dense([low, high]));
        marked.push(drawn([low, high], "var(--fit)", 1.8), dot(middle, MARKS[2], "var(--paper)", { stroke: "var(--fit)", "stroke-width": 2 }),
          dot(fit, MARKS[2], "var(--fit)"));
      }
      return [
        drawn([[upright, frame[1]], [upright, frame[3]]], "var(--threshold)", 1.2),
        drawn(level, "var(--original)", 1.5, "6 3"),
        ...(whole ? [drawn(limits, "var(--original)", 1.6, "2 3")] : limits.map((p) => dot(p, MARKS[4], "var(--original)"))),
        drawn(line, "var(--fair)", 2.4),
        ...line.map((p, i) => svg("circle", { cx: p[0].toFixed(1), cy: p[1].toFixed(1), r: i === e ? 6.5 : 2.6, fill: "var(--fair)" })),
        ...marked,
        ...labelled("fair score", line, obstacles, taken, frame),
        ...labelled("original score", level, obstacles, taken, frame),
        ...labelled("no fair score exceeds", limits, obstacles, taken, frame),
        ...(data.fit ? labelled("the fit", [at([data.fit.epsilon, data.fit.auc])], obstacles, taken, frame)
          .concat(labelled("the fit, new people", [at([data.fit.epsilon, data.new.auc])], obstacles, taken, frame)) : []),
      ];
    });
  }

  function drawShares() {
    const place = places["drawn-plot"];
    if (!place) return;
    const { drawn: groups, randomised_share: all } = data.frontier;
    const x = { low: 0, high: epsilons[epsilons.length - 1], title: words.axis };
    chart(place, clamp(place.host.clientWidth * 0.3, 260, 300), x, { low: 0, high: 1, title: "share of people drawn" }, (at, frame) => {
      const lines = [...groups, all].map((shares) => shares.map((share, i) => at([epsilons[i], share])));
      const whole = lines.pop();
      const here = at([epsilons[state.epsilon], 0])[0];
      const obstacles = [...lines, whole, [[here, frame[1]], [here, frame[3]]]].flatMap(dense);
      const taken = [];
      const told = shownGroups().filter((g) => state.group === g || labels.length <= SEVERAL);
      return [
        drawn([[here, frame[1]], [here, frame[3]]], "var(--threshold)", 1.2),
        ...lines.map((line, g) => drawn(line, colour(g), 1.6, dash(g), { opacity: state.group === null || state.group === g ? 1 : 0.3 })),
        drawn(whole, "var(--ink)", 2.8),
        svg("circle", { cx: here.toFixed(1), cy: whole[state.epsilon][1].toFixed(1), r: 6.5, fill: "var(--ink)" }),
        ...labelled("all people", whole, obstacles, taken, frame),
        ...told.flatMap((g) => labelled(labels[g], lines[g], obstacles, taken, frame, g)),
      ];
    });
  }

  function nearShares(place, point) {
    const found = nearEpsilon(place, point);
    const i = found.epsilon;
    const groups = shownGroups().slice(0, SEVERAL).map((g) => `${labels[g]}: ${percent(data.frontier.drawn[g][i])}`);
    return { ...found, rings: [place.at([epsilons[i], data.frontier.randomised_share[i]])],
      lines: [found.lines[0], `${percent(data.frontier.randomised_share[i])} of people drawn`, ...groups] };
  }

  function nearEpsilon(place, point) {
    const i = point ? closest(epsilons.length, (k) => Math.abs(place.at([epsilons[k], 0])[0] - point[0]))[1] : state.epsilon;
    const column = data.frontier;
    return { epsilon: i, rings: [place.at([epsilons[i], column.auc[i]])], lines: [
      `${words.allowed} ${short(told(epsilons[i]))}`, `fitted people: AUC ${rate(column.auc[i])}`,
      `new people: AUC ${rate(column.auc_estimate[i])}, ${words.gap} ${rate(told(column.gap_estimate[i]))}`,
    ] };
  }

  // One small picture for each group, those furthest from the others first; each is a button that isolates its group.
  let minis = [];
  function addMinis() {
    const host = byId("minis");
    if (labels.length <= SEVERAL) { host.closest("figure").remove(); return; }
    const most = labels.map((_, g) => Math.max(...thresholds.map((_t, i) => gapOf(before, g, i))));
    minis = labels.map((_, g) => g).sort((a, b) => most[b] - most[a]).map((g) => {
      const picture = svg("svg", { viewBox: "0 0 120 120", "aria-hidden": "true" });
      const words_ = html("span", { class: "numbers" });
      const button = html("button", { type: "button", "aria-pressed": "false" }, picture, html("span", { class: "name" }, labels[g]), words_);
      button.addEventListener("click", () => isolate(state.group === g ? null : g));
      host.append(button);
      return { g, picture, words: words_, button };
    });
  }
  function drawMinis() {
    const at = ([x, y]) => [4 + 112 * x, 116 - 112 * y];
    minis.forEach(({ g, picture, words: words_, button }) => {
      const i = state.threshold;
      const now = after()[g];
      picture.replaceChildren(
        svg("rect", { x: 4, y: 4, width: 112, height: 112, fill: "none", stroke: "var(--line)" }),
        drawn(curve(overall).map(at), "var(--threshold)", 1),
        drawn(curve(before[g]).map(at), colour(g), 1.4, "4 2.5"),
        drawn(curve(now).map(at), colour(g), 2.2),
        dot(at([now.fpr[i], now.tpr[i]]), mark(g), colour(g)),
      );
      words_.textContent = `${words.gap} ${rate(told(gapOf(before, g, i)))} → ${rate(told(gapOf(after(), g, i)))}`;
      button.setAttribute("aria-pressed", String(state.group === g));
    });
  }

  // ---- tables and words ----------------------------------------------------------------------------------------

  function showRates() {
    const i = state.threshold;
    const both = [before, after()];
    const rows = byId("rates").tBodies[0].rows;
    const kinds = [(x, g) => shareAt(x, g, i), (x) => x.tpr[i], (x) => x.fpr[i]];
    kinds.forEach((kind, k) => both.forEach((groups, j) => {
      const values = groups.map(kind);
      values.forEach((value, g) => { rows[g].cells[2 * k + j + 1].textContent = k ? rate(value) : percent(value); });
      rows[labels.length + 1].cells[2 * k + j + 1].textContent = rate(range(values));
    }));
    both.forEach((groups, j) => { rows[labels.length].cells[data.column + j + 1].textContent = rate(gapAt(groups, i)); });
    labels.forEach((_, g) => rows[g].classList.toggle("on", state.group === g));
    if (data.draws) after().forEach((line, g) => { rows[g].cells[7].textContent = percent(line.drawn[i]); });
  }

  function showCurves() {
    const ends = (values) => `${rate(Math.min(...values))} to ${rate(Math.max(...values))}`;
    const now = after();
    [...byId("curves").tBodies[0].rows].forEach((row, k) => {
      const i = data.rows[k];
      const share = now.reduce((sum, line, g) => sum + data.shares[g] * shareAt(line, g, i), 0);
      const cells = [percent(share), ends(now.map((x) => x.tpr[i])), ends(now.map((x) => x.fpr[i])), rate(gapAt(now, i))];
      cells.forEach((text, c) => { row.cells[2 * c + 2].textContent = text; });
    });
  }

  function say() {
    const i = state.threshold;
    const e = state.epsilon;
    const at = short(thresholds[i]);
    const epsilon = short(told(epsilons[e]));
    const column = data.frontier;
    const outside = data.window && (thresholds[i] < data.window[0] || thresholds[i] > data.window[1]);
    document.querySelectorAll(".threshold-now").forEach((place) => { place.textContent = at; });
    document.querySelectorAll(".epsilon-now").forEach((place) => { place.textContent = epsilon; });
    byId("threshold").setAttribute("aria-valuetext", "score at least " + at);
    byId("epsilon").setAttribute("aria-valuetext", words.allowed + " " + epsilon);
    const bound = column.auc_bound[e] === null ? "" : `, at most ${rate(column.auc_bound[e])} where ${words.allowed} ${epsilon} holds for the fitted people`;
    const own = state.group === null ? "" : ` ${labels[state.group]}: the ${words.gap} to the group furthest from it is ` +
      `${rate(told(gapOf(before, state.group, i)))}; fair score, ${rate(told(gapOf(after(), state.group, i)))}.`;
    byId("said").textContent = `At score ≥ ${at} the ${words.gap} is ${rate(told(gapBefore[i]))} with the original score; ` +
      `with ${words.allowed} ${epsilon}, ${rate(told(gapAt(after(), i)))} with the fair score.` +
      `${data.draws ? ` There a draw decides for ${percent(drawnAt(i))} of people.` : ""}` +
      `${outside ? " This threshold does not count." : ""}${own} Overall AUC ${rate(data.auc)} → ${rate(column.auc[e])}${bound}. ` +
      `New people: expect a ${words.gap} of ${rate(told(column.gap_estimate[e]))} and an AUC of ${rate(column.auc_estimate[e])}.`;
    byId("meant").textContent = data.meant[e];
    byId("away").hidden = !data.fit || e === data.chosen;
  }

  // ---- controls ------------------------------------------------------------------------------------------------

  const chips = [];
  function addChips() {
    const host = byId("chips");
    if (labels.length > CHIPS) {
      const list = html("select", { id: "group-list" }, html("option", { value: "" }, "All groups"),
        ...labels.map((label, g) => html("option", { value: g }, label)));
      list.addEventListener("change", () => isolate(list.value === "" ? null : Number(list.value)));
      host.append(html("label", { for: "group-list" }, "Show group "), list);
      return;
    }
    [null, ...labels.keys()].forEach((g) => {
      const button = html("button", { type: "button", "aria-pressed": String(g === null) });
      button.append(...(g === null ? ["All groups"] : [sample(g), labels[g]]));
      button.addEventListener("click", () => isolate(state.group === g ? null : g));
      host.append(button);
      chips.push([g, button]);
    });
  }

  function isolate(group) {
    state.group = group;
    chips.forEach(([g, button]) => button.setAttribute("aria-pressed", String(g === group)));
    if (byId("group-list")) byId("group-list").value = group === null ? "" : String(group);
    show();
  }

  function move(name, step) {
    const slider = byId(name);
    set(name, clamp(state[name] + step, 0, Number(slider.max)));
  }
  function set(name, value) {
    state[name] = value;
    byId(name).value = value;
    show();
  }

  const pictures = () => {
    drawRoc("roc-before", before);
    drawRoc("roc-fair", after());
    drawMinis();
    drawGap();
    drawFrontier();
    drawShares();
  };
  let waiting = false;
  function show() {
    showRates();
    showCurves();
    say();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; pictures(); });
  }

  function start() {
    document.documentElement.classList.add("scripted", "plotted");
    const near = (groups) => [nearCurve(groups), (found) => isolate(found && found.group !== state.group ? found.group : null), "threshold"];
    addPlace("roc-before", "ROC curves of all groups, original score; the numbers are in the tables below", ...near(() => before));
    addPlace("roc-fair", "ROC curves of all groups, fair score; the numbers are in the tables below", ...near(after));
    addPlace("gap-plot", "Gap at every threshold, original and fair score; the numbers are in the tables below", nearThreshold,
      (found) => set("threshold", found.threshold), "threshold");
    addPlace("frontier-plot", `Overall AUC at every ${words.allowed}; the numbers are in the table below`, nearEpsilon,
      (found) => set("epsilon", found.epsilon), "epsilon");
    if (data.draws) {
      addPlace("drawn-plot", `Share of people drawn at every ${words.allowed}; the numbers are in the table below`, nearShares,
        (found) => set("epsilon", found.epsilon), "epsilon");
    }
    addChips();
    addMinis();
    const rows = byId("rates").tBodies[0].rows;
    labels.forEach((_, g) => rows[g].cells[0].prepend(sample(g)));
    ["threshold", "epsilon"].forEach((name) => {
      byId(name).value = state[name];
      byId(name).addEventListener("input", () => set(name, Number(byId(name).value)));
    });
    byId("back").addEventListener("click", () => { set("epsilon", data.chosen); byId("epsilon").focus(); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.group !== null) isolate(null); });
    show();
    let wide = window.innerWidth;
    window.addEventListener("resize", () => { if (wide !== window.innerWidth) { wide = window.innerWidth; Object.values(places).forEach((place) => place.show(null)); show(); } });
    // Paper shows one epsilon, that of the tiles and the certificate where there is one, and all groups.
    let kept = null;
    window.addEventListener("beforeprint", () => {
      kept = { ...state };
      Object.assign(state, { group: null, epsilon: data.fit ? data.chosen : state.epsilon });
      show();
      pictures();
    });
    window.addEventListener("afterprint", () => { Object.assign(state, kept); isolate(state.group); });
  }

  start();
}());
