"use strict";
// Hover, zoom and filters of the pictures. The page has all of its figures without this script.
(() => {
  const all = (of, what) => [...of.querySelectorAll(what)];
  const add = (parent, name, attributes, text) => {
    const made = document.createElementNS(parent.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  };
  const short = (value) => String(Number(value.toPrecision(3)));
  const gpus = document.getElementById("filter-rank");
  const name = (gpu) => (gpus && gpus.options[gpu + 1] ? gpus.options[gpu + 1].text : `GPU ${gpu}`);

  const tip = add(document.body, "div", { class: "tip", hidden: "" });
  const show = (event, lines) => {
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - width - 8);
    const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  };
  addEventListener("scroll", () => (tip.hidden = true), { passive: true });

  // a plot is a drawing of its own coordinates, whose rows are GPUs
  const plots = all(document, "svg.plot").map((svg) => {
    const [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    const rows = svg.dataset.rows.split(" ").map(Number);
    const [from, to, most] = ["from", "to", "most"].map((key) => Number(svg.dataset[key]));
    const plot = { svg, wide, high, rows, from, to, most, row: high / rows.length, unit: svg.dataset.unit, left: 0, right: wide };
    plot.is_map = svg.classList.contains("map");
    plot.x = (clientX) => {
      const box = svg.getBoundingClientRect();
      return plot.left + ((clientX - box.left) / box.width) * (plot.right - plot.left);
    };
    plot.value = (x) => from + (x / wide) * (to - from);
    plot.at = (event) => {
      const box = svg.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * rows.length);
      return { x: plot.x(event.clientX), row: Math.min(Math.max(row, 0), rows.length - 1) };
    };
    return plot;
  });

  // the calls of a timeline, from the strokes of its paths
  const calls = (plot) => {
    if (plot.calls) return plot.calls;
    plot.calls = plot.rows.map(() => []);
    for (const path of all(plot.svg, "path[data-f]")) {
      let [x, y] = [0, 0];
      const comm = path.parentNode.dataset.c;
      const does = path.classList.contains("waiting") ? "waits" : "transfers";
      for (const [, move, dx, dy, length] of path.getAttribute("d").matchAll(/([Mm])(-?[\d.]+) (-?[\d.]+)h(-?[\d.]+)/g)) {
        [x, y] = move === "M" ? [+dx, +dy] : [x + +dx, y + +dy];
        const call = { from: x, to: x + +length, text: `${path.dataset.f}, ${comm}: ${does}` };
        plot.calls[Math.min(Math.floor(y / plot.row), plot.rows.length - 1)].push(call);
        x += +length;
      }
    }
    return plot.calls;
  };
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const lines = (plot, { x, row }) => {
    if (!plot.is_map) {
      const near = ((plot.right - plot.left) / plot.svg.getBoundingClientRect().width) * 2;
      const here = calls(plot)[row].filter((call) => call.from - near <= x && x <= call.to + near).slice(0, 4);
      const text = ({ from, to, text }) =>
        `${text} ${short(plot.value(to) - plot.value(from))} ${plot.unit} from ${short(plot.value(from))} ${plot.unit} on`;
      return here.length ? here.map(text) : [`no call at ${short(plot.value(x))} ${plot.unit}`];
    }
    const column = Math.min(Math.floor(x), plot.wide - 1);
    const place = 2 * (row * plot.wide + column);
    const [high, low] = [0, 1].map((digit) => DIGITS.indexOf(plot.svg.dataset.values[place + digit]));
    const each = (plot.to - plot.from) / plot.wide;
    const [first, last] = [0, 1].map((next) => Math.round(plot.from + (column + next) * each));
    const value = ((high * 64 + low - 2048) / 2047) * plot.most;
    const steps = last - first > 1 ? `steps ${first} to ${last - 1}` : `step ${first}`;
    return [steps, `${value > 0 ? "+" : ""}${short(value)} ${plot.unit}`];
  };
  const row_name = (plot, row) => {
    const end = plot.rows[row] + Number(plot.svg.dataset.together || 1) - 1;
    return end > plot.rows[row] ? `${name(plot.rows[row])} to ${name(end)}` : name(plot.rows[row]);
  };
  for (const plot of plots) {
    plot.svg.addEventListener("pointermove", (event) => {
      const at = plot.at(event);
      show(event, [row_name(plot, at.row), ...lines(plot, at)]);
    });
    plot.svg.addEventListener("pointerleave", () => (tip.hidden = true));
  }

  // zoom of the timelines
  const round_up = (least) => {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * 0.999);
  };
  const axis = (plot) => {
    const group = plot.svg.parentNode.querySelector(".axis.across");
    all(group, ".grid, text:not(.name)").forEach((node) => node.remove());
    const [left, top, width, height] = ["x", "y", "width", "height"].map((key) => Number(plot.svg.getAttribute(key)));
    const [from, to] = [plot.value(plot.left), plot.value(plot.right)];
    const step = round_up((to - from) / 8);
    for (let mark = Math.ceil(from / step - 1e-9); mark * step <= to + step * 1e-9; mark++) {
      const x = left + ((mark * step - from) / (to - from)) * width;
      group.prepend(add(group, "path", { class: "grid", d: `M${x} ${top}V${top + height}` }));
      add(group, "text", { x, y: top + height + 16, "text-anchor": "middle" }, String(Number((mark * step).toPrecision(6))));
    }
  };
  const zoom = (plot, from, to) => {
    const width = Math.min(Math.max(to - from, plot.wide / 400), plot.wide);
    plot.left = Math.min(Math.max((from + to - width) / 2, 0), plot.wide - width);
    plot.right = plot.left + width;
    plot.svg.setAttribute("viewBox", `${plot.left} 0 ${width} ${plot.high}`);
    axis(plot);
    plot.shown();
  };
  const around = (plot, x, factor) => zoom(plot, x - (x - plot.left) * factor, x + (plot.right - x) * factor);
  const shift = (plot, part) => {
    const by = (plot.right - plot.left) * part;
    zoom(plot, plot.left + by, plot.right + by);
  };
  const middle = (plot) => (plot.left + plot.right) / 2;
  const controls = (plot) => {
    const region = plot.svg.closest(".scroll");
    const bar = add(document.body, "div", { class: "zoom", role: "group", "aria-label": "Time range" });
    region.before(bar);
    const button = (text, label, act) =>
      add(bar, "button", { type: "button", "aria-label": label }, text).addEventListener("click", act);
    const input = (text, apply) => {
      const label = add(bar, "label", {}, `${text} `);
      const made = add(label, "input", { type: "number", step: "any" });
      made.addEventListener("change", () => made.value !== "" && apply(((made.value - plot.from) / (plot.to - plot.from)) * plot.wide));
      return made;
    };
    const first = input("From", (x) => zoom(plot, x, Math.max(plot.right, x)));
    const last = input("to", (x) => zoom(plot, Math.min(plot.left, x), x));
    add(bar, "span", {}, plot.unit);
    button("+", "Zoom in", () => around(plot, middle(plot), 0.5));
    button("\u2212", "Zoom out", () => around(plot, middle(plot), 2));
    button("\u2190", "Earlier", () => shift(plot, -0.5));
    button("\u2192", "Later", () => shift(plot, 0.5));
    button("Whole step", "Whole step", () => zoom(plot, 0, plot.wide));
    add(bar, "span", { class: "hint" }, "or drag over the picture, or pinch");
    plot.shown = () => [first.value, last.value] = [plot.left, plot.right].map((x) => short(plot.value(x)));
    plot.shown();
    region.addEventListener("keydown", (event) => {
      const acts = {
        "+": () => around(plot, middle(plot), 0.5),
        "-": () => around(plot, middle(plot), 2),
        0: () => zoom(plot, 0, plot.wide),
      };
      if (plot.right - plot.left < plot.wide) {
        acts.ArrowLeft = () => shift(plot, -0.25);
        acts.ArrowRight = () => shift(plot, 0.25);
      }
      if (acts[event.key] && !event.ctrlKey && !event.metaKey) {
        acts[event.key]();
        event.preventDefault();
      }
    });
  };
  const gestures = (plot) => {
    const fingers = new Map();
    let chosen = null;
    const { svg } = plot;
    svg.addEventListener("pointerdown", (event) => {
      const x = plot.x(event.clientX);
      fingers.set(event.pointerId, x);
      svg.setPointerCapture(event.pointerId);
      if (event.pointerType === "mouse" && event.button === 0) {
        chosen = { from: x, box: add(svg, "rect", { class: "chosen", x, y: 0, width: 0, height: plot.high }) };
      }
    });
    svg.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      const x = plot.x(event.clientX);
      if (chosen) {
        chosen.box.setAttribute("x", Math.min(x, chosen.from));
        chosen.box.setAttribute("width", Math.abs(x - chosen.from));
      } else if (fingers.size === 1) {
        const by = fingers.get(event.pointerId) - x;
        zoom(plot, plot.left + by, plot.right + by);
      } else {
        const [, fixed] = [...fingers].find(([id]) => id !== event.pointerId);
        const factor = (fingers.get(event.pointerId) - fixed) / (x - fixed || 1);
        if (factor > 0.2 && factor < 5) around(plot, fixed, factor);
      }
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      if (!chosen) return;
      const { from, box } = chosen;
      const to = plot.x(event.clientX);
      chosen = null;
      box.remove();
      const least = ((plot.right - plot.left) / svg.getBoundingClientRect().width) * 5;
      if (event.type === "pointerup" && Math.abs(to - from) > least) zoom(plot, Math.min(from, to), Math.max(from, to));
    };
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("dblclick", () => zoom(plot, 0, plot.wide));
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      around(plot, plot.x(event.clientX), Math.exp(event.deltaY / 200));
    }, { passive: false });
  };
  for (const plot of plots.filter((plot) => !plot.is_map)) {
    controls(plot);
    gestures(plot);
  }

  // filters
  const form = document.getElementById("filters");
  if (!form) return;
  form.hidden = false;
  gpus.addEventListener("change", () => {
    const gpu = Number(gpus.value);
    for (const plot of plots) {
      all(plot.svg, ".shade").forEach((node) => node.remove());
      const last = Number(plot.svg.dataset.together || 1) - 1;
      const row = plot.rows.findIndex((first) => first <= gpu && gpu <= first + last);
      if (gpus.value === "" || row < 0) continue;
      const top = row * plot.row;
      const shade = (y, height) => add(plot.svg, "rect", { class: "shade", x: 0, y, width: plot.wide, height });
      shade(0, top);
      shade(top + plot.row, plot.high - top - plot.row);
    }
  });
  const comms = document.getElementById("filter-comm");
  comms.addEventListener("change", () => {
    const [kind, ...rest] = comms.value;
    for (const group of all(document, "svg.plot g[data-c]")) {
      group.classList.toggle("off", kind !== undefined && group.dataset[kind] !== rest.join(""));
    }
  });
})();
