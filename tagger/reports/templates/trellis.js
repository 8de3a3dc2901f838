"use strict";
// Steps through the recursions of a trellis. The numbers come from the attribute data-trellis of a section; nothing is
// computed here but the sums that a formula shows.

const SIGNS = { delta: "δ", alpha: "α", beta: "β", probability: "P" };
const text = value => value === null ? "-∞" : value.toFixed(3);
const score = value => value === null ? -Infinity : value;

function element(name, content, className) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...[content].flat().filter(part => part !== null && part !== undefined));
  return made;
}

class Stepper {
  constructor(section) {
    this.data = JSON.parse(section.dataset.trellis);
    this.section = section;
    this.nodes = [...section.querySelectorAll(".node")];
    this.edges = new Map([...section.querySelectorAll(".edge")].map(line => [+line.dataset.step, line]));
    this.panel = section.querySelector(".panel");
    this.lattice = section.querySelector(".lattice");
    this.output = section.querySelector("output");
    this.mode = section.querySelector(".mode");
    this.into = this.data.states.map(() => []);  // numbers of the steps to each state, and from it
    this.out = this.data.states.map(() => []);
    this.data.steps.forEach((step, i) => { this.into[step.after].push(i); this.out[step.before].push(i); });
    this.last = Math.max(...this.data.states.map(state => state.token));
    this.best = this.data.states.flatMap((state, i) => state.is_best ? [i] : []);
    const moves = { first: () => 0, back: () => this.at - 1, next: () => this.at + 1, last: () => this.end };
    for (const [name, move] of Object.entries(moves)) {
      section.querySelector("." + name).addEventListener("click", () => this.go(move()));
    }
    this.moves = { Home: moves.first, ArrowLeft: moves.back, ArrowRight: moves.next, End: moves.last };
    this.mode.addEventListener("change", () => this.choose());
    section.querySelector(".controls").hidden = false;
    this.choose();
  }

  choose() {
    const order = this.data.states.map((_, i) => i);
    if (this.mode.value === "beta") order.reverse();
    this.plan = order.map(state => ({ state }));
    // At the end, Viterbi walks back along the best path.
    if (this.mode.value === "delta") this.plan.push(...this.best.slice().reverse().map((state, walked) => ({ state, walked })));
    this.end = this.plan.length - 1;
    this.go(this.end);
  }

  go(place) {
    this.at = Math.min(Math.max(place, 0), this.end);
    const { state, walked } = this.plan[this.at];
    const mode = this.mode.value, done = new Set(this.plan.slice(0, this.at + 1).map(step => step.state));
    const path = walked === undefined ? [] : this.best.slice(this.best.length - 1 - walked);
    const sources = mode === "beta" ? this.out[state] : mode === "probability" || walked !== undefined ? [] : this.into[state];
    const others = new Set(sources.map(i => mode === "beta" ? this.data.steps[i].after : this.data.steps[i].before));
    this.section.classList.toggle("stepping", mode === "delta");
    this.nodes.forEach((node, i) => {
      const value = this.data.states[i][mode];
      node.querySelector(".value").textContent = done.has(i) ? (mode === "probability" ? value.toFixed(4) : text(value)) : "·";
      node.classList.toggle("now", i === state);
      node.classList.toggle("from", others.has(i));
      node.classList.toggle("walked", path.includes(i));
    });
    for (const [i, line] of this.edges) {
      const step = this.data.steps[i];
      line.classList.toggle("into", sources.includes(i));
      line.classList.toggle("chosen", mode === "delta" && sources.includes(i) && step.before === this.data.states[state].pointer);
      line.classList.toggle("walked", path.includes(step.before) && path.includes(step.after));
    }
    this.output.textContent = `step ${this.at + 1} of ${this.end + 1}`;
    this.panel.replaceChildren(...(walked === undefined ? this.explain(state, mode) : this.walk(state, walked)));
    this.show(this.nodes[state]);
  }

  show(node) {  // scrolls the picture sideways, never the page
    const box = node.getBoundingClientRect(), frame = this.lattice.getBoundingClientRect();
    if (box.left < frame.left + 20) this.lattice.scrollLeft += box.left - frame.left - 60;
    if (box.right > frame.right - 20) this.lattice.scrollLeft += box.right - frame.right + 60;
  }

  name(i) {
    const state = this.data.states[i];
    return state.previous === null ? state.tag : `${state.previous} ${state.tag}`;
  }

  cell(sign, i) { return `${sign}[${this.data.states[i].token}, ${this.name(i)}]`; }

  explain(i, mode) {
    const state = this.data.states[i], sign = SIGNS[mode], left = this.cell(sign, i);
    const head = element("h3", state.word === null ? this.name(i) : `${state.word}: ${this.name(i)}`);
    if (mode === "probability") return [head, ...this.probability(i, left)];
    const border = mode === "beta" ? state.token === this.last : state.token === 0;
    if (border) return [head, this.formula(`${left} = 0`), element("p", mode === "beta" ? "Nothing follows the end." : "Nothing precedes the start.")];
    const t = state.token, way = mode === "beta" ? t + 1 : t - 1, plus = state.emission === null ? "" : ` + emission[${t}, ${this.name(i)}]`;
    const formulas = {
      delta: `${left} = max_i (δ[${way}, i] + step[i, ${this.name(i)}])${plus}`,
      alpha: `${left} = log Σ_i exp (α[${way}, i] + step[i, ${this.name(i)}])${plus}`,
      beta: `${left} = log Σ_j exp (step[${this.name(i)}, j] + emission[${way}, j] + β[${way}, j])`,
    };
    return [head, this.formula(formulas[mode]), this.terms(i, mode), ...this.result(i, mode, left)];
  }

  terms(i, mode) {
    const state = this.data.states[i], back = mode === "beta";
    const heads = back ? ["j", "step", "emission", "β", "sum"] : ["i", SIGNS[mode], "step", "sum"];
    const rows = (back ? this.out : this.into)[i].map(number => {
      const step = this.data.steps[number], other = back ? step.after : step.before, at = this.data.states[other];
      const values = back ? [step.score, at.emission ?? 0, at.beta] : [at[mode], step.score];
      const sum = values.reduce((total, value) => total + score(value), 0);
      const cells = [...values.map(text), text(Number.isFinite(sum) ? sum : null)].map(value => element("td", value));
      const row = element("tr", [element("th", this.name(other)), ...cells], mode === "delta" && other === state.pointer ? "chosen" : "");
      row.firstChild.scope = "row";
      return row;
    });
    const rest = mode === "delta" ? null : state[mode + "_rest"];
    if (rest !== null) {
      const blank = element("th", "states not shown");
      blank.scope = "row";
      const gap = element("td", "");
      gap.colSpan = heads.length - 2;
      rows.push(element("tr", [blank, gap, element("td", text(rest))]));
    }
    const head = element("tr", heads.map(name => { const cell = element("th", name); cell.scope = "col"; return cell; }));
    return element("table", [element("thead", head), element("tbody", rows)]);
  }

  result(i, mode, left) {
    const state = this.data.states[i], emission = state.emission ?? 0, value = state[mode];
    const inside = value === null ? null : mode === "beta" ? value : value - emission;
    const operator = mode === "delta" ? `max = ${text(inside)}, from ${state.pointer_tag}` + (state.pointer === null ? " (not shown)" : "") : `log Σ exp = ${text(inside)}`;
    const sum = mode === "beta" || state.emission === null ? "" : `${text(inside)} ${emission < 0 ? "-" : "+"} ${text(Math.abs(emission))} = `;
    const meaning = { delta: "the score of the best path", alpha: "log Z", beta: "log Z" };
    const lasts = this.data.states.filter(other => other.token === this.last);
    const final = mode === "beta" ? state.token === 0 : state.token === this.last;
    const note = !final ? "" : lasts.length === 1 || mode === "beta" ? `This is ${meaning[mode]}.` : mode === "delta" ? "The best path ends in the highest of these." : `log Z = log Σ exp of all ends = ${text(this.data.log_z)}.`;
    return [element("p", operator), element("p", `${left} = ${sum}${text(value)}`, "result"), note ? element("p", note) : null].filter(Boolean);
  }

  probability(i, left) {
    const { alpha, beta, probability } = this.data.states[i];
    return [
      this.formula(`${left} = exp(α + β - log Z)`),
      element("p", `${left} = exp(${text(alpha)} + ${text(beta)} - ${text(this.data.log_z)})`),
      element("p", `${left} = ${probability.toFixed(4)}`, "result"),
    ];
  }

  walk(i, walked) {
    const state = this.data.states[i];
    const tags = this.best.slice(this.best.length - 1 - walked).map(number => this.data.states[number].tag).join(" ");
    const after = walked ? this.best[this.best.length - walked] : null;
    const formula = walked ? `y[${state.token}] = pointer[${state.token + 1}, ${this.name(after)}] = ${this.name(i)}` : `y[${state.token}] = ${this.name(i)}`;
    return [
      element("h3", "The walk back"),
      this.formula(formula),
      element("p", walked ? "The back-pointer of the state after leads here." : "The best path ends here."),
      element("p", tags, "result"),
    ];
  }

  formula(content) { return element("p", content, "formula"); }
}

const steppers = [...document.querySelectorAll(".trellis")].filter(section => section.querySelector(".lattice")).map(section => new Stepper(section));
let current = steppers[0];
for (const stepper of steppers) {
  for (const event of ["focusin", "pointerdown"]) stepper.section.addEventListener(event, () => { current = stepper; });
}
document.addEventListener("keydown", event => {
  const move = current?.moves[event.key];
  if (!move || event.ctrlKey || event.altKey || event.metaKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
  event.preventDefault();
  current.go(move());
});
