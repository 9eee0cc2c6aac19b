/** Lines over time, as SVG with axes, and a mark where one stands. */

import { h } from '../dom.js';
import { number } from '../i18n.js';

const [WIDTH, HEIGHT] = [640, 220];
const [LEFT, RIGHT, TOP, BOTTOM] = [46, 12, 12, 26];
const TICKS = 4;

/**
 * Describe a plot.
 *
 * @param label its name for those who do not see it
 * @param series `[{name, points: [[x, y], …]}]`, each a line in steps
 * @param range `[from, to]` of x
 * @param at where the mark stands, or null
 * @param stepped whether values hold until the next point
 * @param xTicks `[[x, text], …]`
 */
export function plot({ label, series, range, at = null, stepped = true, xTicks = [] }) {
  const values = series.flatMap(({ points }) => points.map(([, y]) => y));
  const ticks = ticksOf(Math.min(...values), Math.max(...values));
  const [low, high] = [ticks[0], ticks.at(-1)];
  const [from, to] = range[0] === range[1] ? [range[0], range[0] + 1] : range;
  const x = (value) => LEFT + ((value - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const line = ({ points }) => points.map(([px, py], index) => {
    if (index === 0) return `M${round(x(px))} ${round(y(py))}`;
    return stepped ? `H${round(x(px))}V${round(y(py))}` : `L${round(x(px))} ${round(y(py))}`;
  }).join('') + (stepped ? `H${round(x(to))}` : '');
  return h('figure', { class: 'plot' },
    h('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label },
      ticks.map((tick) => h('g', { class: 'tick' },
        h('path', { d: `M${LEFT} ${round(y(tick))}H${WIDTH - RIGHT}` }),
        h('text', { x: LEFT - 6, y: round(y(tick)) + 4, 'text-anchor': 'end' }, number(tick)))),
      xTicks.map(([value, text]) => h('text', { class: 'x', x: round(x(value)), y: HEIGHT - 7, 'text-anchor': 'middle' }, text)),
      series.map((one, index) => h('path', { class: `line s${index % 6}`, d: line(one) })),
      !stepped && series.map((one, index) => one.points.map(([px, py]) => h('circle', { class: `dot s${index % 6}`, cx: round(x(px)), cy: round(y(py)), r: 3 }))),
      at !== null && h('path', { class: 'at', d: `M${round(x(at))} ${TOP}V${HEIGHT - BOTTOM}` })),
    series.length > 1 && h('figcaption', {}, series.map(({ name }, index) =>
      h('span', {}, h('i', { class: `s${index % 6}`, 'aria-hidden': 'true' }), name))));
}

function ticksOf(low, high) {
  if (low === high) return [low - 1, low, high + 1];
  const rough = (high - low) / TICKS;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

const round = (value) => Math.round(value * 10) / 10;
