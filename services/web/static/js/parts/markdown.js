/**
 * The rules as the service tells them: Markdown, of which they use headings, paragraphs, lists, tables, emphasis and code.
 *
 * Each clause becomes a place to link to, and where a clause is named, a link leads there.
 */

import { h } from '../dom.js';

const CLAUSE = /\b(DR|DB|CB|CP|PT)-\d+\.\d+\b/;
const GAMES = { DR: 'dice-race', DB: 'dice-bank', CB: 'cards-bank', CP: 'cards-places', PT: 'cards-points' };
const INLINE = /(\*\*[^*]+\*\*|`[^`]+`|\[[^\]]+\]\([^)]*\)|\b(?:DR|DB|CB|CP|PT)-\d+\.\d+\b)/;

/** Describe a text. `game` is the one that it belongs to. */
export function markdown(text, game) {
  const lines = text.split('\n');
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line.startsWith('#')) {
      const level = line.match(/^#+/)[0].length;
      found.push(h(`h${level}`, {}, line.slice(level).trim()));
      at += 1;
    } else if (line.startsWith('- ')) {
      const items = [];
      while (at < lines.length && (lines[at].startsWith('- ') || lines[at].startsWith('  ') || lines[at] === '')) {
        if (lines[at].startsWith('- ')) items.push([lines[at].slice(2)]);
        else if (lines[at] === '' && !lines[at + 1]?.startsWith('  ') && !lines[at + 1]?.startsWith('- ')) break;
        else items.at(-1).push(lines[at].slice(2));
        at += 1;
      }
      found.push(h('ul', {}, items.map((item) => clause(item, game))));
    } else if (line === '') {
      at += 1;
    } else {
      const start = at;
      while (at < lines.length && lines[at] !== '' && !lines[at].startsWith('- ') && !lines[at].startsWith('#')) at += 1;
      found.push(h('p', {}, inline(lines.slice(start, at).join(' '), game)));
    }
  }
  return found;
}

/** An item of a list: words, and tables among them. */
function clause(lines, game) {
  const id = lines[0].match(/^\*\*((?:DR|DB|CB|CP|PT)-\d+\.\d+)\*\*/)?.[1];
  const parts = [];
  let words = [];
  let rows = [];
  const end = () => {
    if (words.length) parts.push(inline(words.join(' '), game));
    if (rows.length) parts.push(table(rows, game));
    [words, rows] = [[], []];
  };
  for (const line of lines) {
    const isRow = line.startsWith('|');
    if (line === '' || (isRow && words.length) || (!isRow && rows.length)) end();
    if (line !== '') (isRow ? rows : words).push(line);
  }
  end();
  return h('li', { id: id ?? null }, parts);
}

function table(rows, game) {
  const cells = rows.map((row) => row.replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim()));
  const [head, , ...body] = cells;
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': head[0] },
    h('table', {},
      h('thead', {}, h('tr', {}, head.map((cell) => h('th', { scope: 'col' }, inline(cell, game))))),
      h('tbody', {}, body.map((row) => h('tr', {}, row.map((cell) => h('td', {}, inline(cell, game))))))));
}

function inline(text, game) {
  return text.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith('**')) return h('b', {}, part.slice(2, -2));
    if (part.startsWith('`')) return h('code', {}, part.slice(1, -1));
    if (part.startsWith('[')) return part.match(/^\[([^\]]+)\]/)[1];
    const named = GAMES[part.match(CLAUSE)[1]];
    return h('a', { href: `${named === game ? '' : `/rules/${named}`}#${part}` }, part);
  });
}
