"use strict";
// Hover, zoom and filters of the pictures. The page has all of its figures without this script.
(() => {
  const all = (of, what) => [...of.querySelectorAll(what)];
  const on = (node, event, act, options) => node.addEventListener(event, act, options);
  const add = (parent, name, attributes, text = "") => {
    const made = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return parent.appendChild(made);
  };
  const between = (least, value, most) => Math.max(least, Math.min(value, most));
  const short = (value) => String(Number(value.toPrecision(3)));
  const [ranks, comms] = ["filter-rank", "filter-comm"].map((id) => document.getElementById(id));
  const name = (gpu) => ranks?.options[gpu + 1]?.text ?? `GPU ${gpu}`;

  const tip = add(document.body, "div", { class: "tip", hidden: "" });
  const hide = () => (tip.hidden = true);
  const show = (event, lines) => {
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const below = event.clientY + 18;
    tip.style.left = `${between(4, event.clientX + 14, innerWidth - box.width - 8)}px`;
    tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 10 : below}px`;
  };
  on(window, "scroll", hide, { passive: true });

  const SIDES = ["x", "y", "width", "height"];
  // a plot is a drawing with coordinates of its own, whose rows are GPUs
  const plots = all(document, "svg.plot").map((svg) => {
    const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    const { unit, values } = svg.dataset;
    const [from, to, most, together] = ["from", "to", "most", "together"].map((key) => Number(svg.dataset[key]));
    const rows = svg.dataset.rows.split(" ").map(Number);
    return { svg, wide, high, rows, from, to, unit, values, most, together, row: high / rows.length, left: 0, right: wide };
  });
  // where a plot is on the screen: a browser's own answer takes in what its edges cut off
  const box_of = ({ svg }) => {
    const outer = svg.ownerSVGElement;
    const page = outer.getBoundingClientRect();
    const scale = page.width / outer.viewBox.baseVal.width;
    const [x, y, width, height] = SIDES.map((key) => svg.getAttribute(key) * scale);
    return { left: page.left + x, top: page.top + y, width, height };
  };
  const pixel = (plot) => (plot.right - plot.left) / box_of(plot).width;
  const x_of = (plot, event) => plot.left + (event.clientX - box_of(plot).left) * pixel(plot);
  const row_of = (plot, event) => {
    const { top, height } = box_of(plot);
    return between(0, Math.floor(((event.clientY - top) / height) * plot.rows.length), plot.rows.length - 1);
  };
  const value = (plot, x) => plot.from + (x / plot.wide) * (plot.to - plot.from);

  // the calls of a timeline by row, from the strokes of its paths
  const calls = (plot) => {
    const rows = plot.rows.map(() => []);
    for (const path of all(plot.svg, "path[data-f]")) {
      const does = path.classList.contains("waiting") ? "waits" : "transfers";
      const text = `${path.dataset.f}, ${path.parentNode.dataset.c}: ${does}`;
      let [x, y] = [0, 0];
      for (const [, move, a, b, length] of path.getAttribute("d").matchAll(/([Mm])(\S+?) ([-\d.]+)h([\d.]+)/g)) {
        [x, y] = move === "M" ? [+a, +b] : [x + +a, y + +b];
        rows[Math.min(Math.floor(y / plot.row), rows.length - 1)].push({ from: x, to: x + +length, text });
        x += +length;
      }
    }
    return rows;
  };
  const at_call = (plot, row, x) => {
    plot.calls ??= calls(plot);
    const near = 2 * pixel(plot);
    const time = (x) => `${short(value(plot, x))} ${plot.unit}`;
    const here = plot.calls[row].filter((call) => call.from - near <= x && x <= call.to + near).slice(0, 4);
    const length = (call) => short(value(plot, call.to) - value(plot, call.from));
    const lines = here.map((call) => `${call.text} ${length(call)} ${plot.unit} from ${time(call.from)} on`);
    return lines.length ? lines : [`no call at ${time(x)}`];
  };
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at_cell = (plot, row, x) => {
    const column = between(0, Math.floor(x), plot.wide - 1);
    const [high, low] = [0, 1].map((digit) => DIGITS.indexOf(plot.values[2 * (row * plot.wide + column) + digit]));
    const [first, next] = [column, column + 1].map((x) => Math.round(value(plot, x)));
    const number = high * 64 + low;
    const figure = ((number - 2048) / 2047) * plot.most;
    const text = number ? `${short(figure)} ${plot.unit}` : "not known";
    const { across } = plot.svg.dataset;
    if (across) {
      const [from, to] = [column, column + 1].map((x) => short(value(plot, x)));
      return [`${from} to ${to} ${across}`, text];
    }
    const steps = next - first > 1 ? `steps ${first} to ${next - 1}` : `step ${first}`;
    return [steps, (figure > 0 ? "+" : "") + text];
  };
  for (const plot of plots) {
    const at = plot.values ? at_cell : at_call;
    on(plot.svg, "pointermove", (event) => {
      const row = row_of(plot, event);
      const [first, last] = [plot.rows[row], plot.rows[row] + plot.together - 1].map(name);
      show(event, [first === last ? first : `${first} to ${last}`, ...at(plot, row, x_of(plot, event))]);
    });
    on(plot.svg, "pointerleave", hide);
  }

  // zoom of the timelines
  const axis = ({ svg }, from, to) => {
    const group = svg.parentNode.querySelector(".axis.across");
    all(group, ".grid, text:not(.name)").forEach((node) => node.remove());
    const [left, top, width, height] = SIDES.map((key) => Number(svg.getAttribute(key)));
    const room = (to - from) / 8;
    const power = 10 ** Math.floor(Math.log10(room));
    const step = power * [1, 2, 5, 10].find((digit) => digit * power >= room * 0.999);
    for (let mark = Math.ceil(from / step - 1e-9); mark * step <= to + step * 1e-9; mark++) {
      const x = left + ((mark * step - from) / (to - from)) * width;
      group.prepend(add(group, "path", { class: "grid", d: `M${x} ${top}v${height}` }));
      const text = Number((mark * step).toPrecision(6));
      add(group, "text", { x, y: top + height + 16, "text-anchor": "middle" }, text);
    }
  };
  const zoom = (plot, from, to) => {
    const width = between(plot.wide / 400, to - from, plot.wide);
    plot.left = between(0, (from + to - width) / 2, plot.wide - width);
    plot.right = plot.left + width;
    plot.svg.setAttribute("viewBox", `${plot.left} 0 ${width} ${plot.high}`);
    const span = [plot.left, plot.right].map((x) => value(plot, x));
    axis(plot, ...span);
    plot.inputs.forEach((input, end) => (input.value = short(span[end])));
  };
  const whole = (plot) => zoom(plot, 0, plot.wide);
  const around = (plot, factor, x = (plot.left + plot.right) / 2) =>
    zoom(plot, x - (x - plot.left) * factor, x + (plot.right - x) * factor);
  const shift = (plot, by) => zoom(plot, plot.left + by, plot.right + by);
  const controls = (plot) => {
    const region = plot.svg.closest(".scroll");
    const bar = add(region.parentNode, "div", { class: "zoom", role: "group", "aria-label": "Time range" });
    region.before(bar);
    plot.inputs = ["From", "to"].map((text, end) => {
      const made = add(add(bar, "label", {}, `${text} `), "input", { type: "number", step: "any" });
      on(made, "change", () => {
        const x = ((made.value - plot.from) / (plot.to - plot.from)) * plot.wide;
        end ? zoom(plot, Math.min(plot.left, x), x) : zoom(plot, x, Math.max(plot.right, x));
      });
      return made;
    });
    add(bar, "span", {}, plot.unit);
    const button = (text, label, act) => on(add(bar, "button", { type: "button", "aria-label": label }, text), "click", act);
    button("+", "Zoom in", () => around(plot, 0.5));
    button("\u2212", "Zoom out", () => around(plot, 2));
    button("Whole step", "Show the whole step", () => whole(plot));
    on(region, "keydown", (event) => {
      const by = (plot.right - plot.left) / 4;
      const acts = { "+": () => around(plot, 0.5), "-": () => around(plot, 2), 0: () => whole(plot) };
      if (by * 4 < plot.wide) Object.assign(acts, { ArrowLeft: () => shift(plot, -by), ArrowRight: () => shift(plot, by) });
      if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
      acts[event.key]();
      event.preventDefault();
    });
    whole(plot);
  };
  // a mouse chooses a range, two fingers stretch it; one finger scrolls the page
  const gestures = (plot) => {
    const { svg } = plot;
    const fingers = new Map();
    let chosen = null;
    on(svg, "pointerdown", (event) => {
      const x = x_of(plot, event);
      fingers.set(event.pointerId, x);
      svg.setPointerCapture(event.pointerId);
      if (event.pointerType !== "mouse" || event.button) return;
      chosen = { x, box: add(svg, "rect", { class: "chosen", x, width: 0, height: plot.high }) };
    });
    on(svg, "pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      const x = x_of(plot, event);
      if (chosen) {
        chosen.box.setAttribute("x", Math.min(x, chosen.x));
        chosen.box.setAttribute("width", Math.abs(x - chosen.x));
        return;
      }
      const before = fingers.get(event.pointerId);
      const other = [...fingers].find(([id]) => id !== event.pointerId);
      if (other) around(plot, between(0.2, (before - other[1]) / (x - other[1] || 1), 5), other[1]);
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (!chosen) return;
      const ends = [chosen.x, x_of(plot, event)].sort((a, b) => a - b);
      chosen.box.remove();
      chosen = null;
      if (event.type === "pointerup" && ends[1] - ends[0] > 5 * pixel(plot)) zoom(plot, ...ends);
    };
    on(svg, "pointerup", end);
    on(svg, "pointercancel", end);
    on(svg, "dblclick", () => whole(plot));
    const wheel = (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      around(plot, Math.exp(event.deltaY / 200), x_of(plot, event));
    };
    on(svg, "wheel", wheel, { passive: false });
  };
  for (const plot of plots.filter((plot) => !plot.values)) {
    controls(plot);
    gestures(plot);
  }

  if (!ranks) return;
  ranks.form.hidden = false;
  on(ranks, "change", () => {
    for (const { svg, rows, row, wide, high, together } of plots) {
      all(svg, ".shade").forEach((node) => node.remove());
      const gpu = Number(ranks.value);
      const place = ranks.value ? rows.findIndex((first) => first <= gpu && gpu < first + together) : -1;
      if (place < 0) continue;
      add(svg, "rect", { class: "shade", width: wide, height: place * row });
      add(svg, "rect", { class: "shade", y: (place + 1) * row, width: wide, height: high - (place + 1) * row });
    }
  });
  on(comms, "change", () => {
    const [kind, key] = [comms.value[0], comms.value.slice(1)];
    for (const group of all(document, "svg.plot g[data-c]")) {
      group.classList.toggle("off", kind !== undefined && group.dataset[kind] !== key);
    }
  });
})();
