/**
 * Elements as values, and one function that makes the page look like them.
 *
 * `h('button', {class: 'primary', onclick: go}, 'Go')` describes an element; `patch(node, [...])` changes the children of
 * a node into what is described. It keeps the elements that are there already, so that the focus, what is typed, and
 * running transitions stay. Nothing here ever reads a string as HTML.
 */

const SVG = 'http://www.w3.org/2000/svg';
const DESCRIBED = Symbol('described');
const PROPERTIES = new Set(['value', 'checked', 'selected', 'indeterminate']);

/**
 * Describe an element.
 *
 * Props: `class` (text, or a list in which empty values are left out), `style` (an object of properties), `key` (who it
 * is among its siblings), `ref` (called once with the new element), `on…` (listeners), `.name` (a property), and
 * attributes: null and false leave one away, true sets it without a value.
 */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: children.flat(Infinity).filter(isShown) };
}

/** Make the children of a node those that are described. */
export function patch(parent, children) {
  const wanted = [children].flat(Infinity).filter(isShown);
  const matched = match([...parent.childNodes], wanted);
  const kept = new Set(matched);
  for (const node of [...parent.childNodes]) {
    if (!kept.has(node)) node.remove();
  }
  let cursor = parent.firstChild;
  wanted.forEach((child, index) => {
    const node = matched[index] ?? create(child, parent);
    bring(node, child); // before it is placed: an element of ours looks at its properties when it is connected
    if (node === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(node, cursor);
  });
}

/** An element that describes its own children in `render()`, anew after each `update()`. */
export class View extends HTMLElement {
  #waiting = false;

  connectedCallback() {
    this.alive = new AbortController();
    this.start();
    this.update();
  }

  disconnectedCallback() {
    this.alive.abort();
  }

  /** Begin what lasts as long as the element is on the page; `this.alive.signal` tells the end. */
  start() {}

  render() {
    return [];
  }

  /** After each rendering. */
  rendered() {}

  update() {
    if (this.#waiting) return;
    this.#waiting = true;
    queueMicrotask(() => {
      this.#waiting = false;
      if (!this.isConnected) return;
      patch(this, this.render());
      this.rendered();
    });
  }
}

export const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

function isShown(child) {
  return child !== null && child !== undefined && child !== false && child !== true && child !== '';
}

function isText(child) {
  return typeof child !== 'object';
}

/** Return for each wanted child the node that is to become it, or undefined. */
function match(nodes, wanted) {
  const keyed = new Map();
  const others = [];
  for (const node of nodes) {
    const key = node[DESCRIBED]?.props.key;
    if (key === undefined) others.push(node);
    else keyed.set(key, node);
  }
  return wanted.map((child) => {
    if (!isText(child) && child.props.key !== undefined) {
      const node = keyed.get(child.props.key);
      keyed.delete(child.props.key);
      return node?.[DESCRIBED].tag === child.tag ? node : undefined;
    }
    const at = others.findIndex((node) =>
      isText(child) ? node.nodeType === Node.TEXT_NODE : node[DESCRIBED]?.tag === child.tag);
    return at < 0 ? undefined : others.splice(at, 1)[0];
  });
}

function create(child, parent) {
  if (isText(child)) return document.createTextNode(String(child));
  const inSvg = child.tag === 'svg' || (parent.namespaceURI === SVG && parent.tagName !== 'foreignObject');
  const node = inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  return node;
}

function bring(node, child) {
  if (isText(child)) {
    if (node.data !== String(child)) node.data = String(child);
    return;
  }
  const before = node[DESCRIBED]?.props ?? {};
  const isNew = node[DESCRIBED] === undefined;
  node[DESCRIBED] = child;
  for (const name of Object.keys(before)) {
    if (!(name in child.props)) set(node, name, null, before[name]);
  }
  const owned = node.tagName.includes('-') && child.children.length === 0;
  // A select takes its value from options that have to be there.
  if (!owned) patch(node, child.children);
  for (const [name, value] of Object.entries(child.props)) set(node, name, value, before[name]);
  if (isNew && child.props.ref) child.props.ref(node);
}

function set(node, name, value, before) {
  if (name === 'key' || name === 'ref') return;
  if (name.startsWith('.')) {
    if (node[name.slice(1)] !== value) node[name.slice(1)] = value;
  } else if (name.startsWith('on')) {
    node[name] = value;
  } else if (name === 'class') {
    attribute(node, 'class', Array.isArray(value) ? value.filter(Boolean).join(' ') : value);
  } else if (name === 'style') {
    for (const property of Object.keys(before ?? {})) {
      if (!(property in (value ?? {}))) node.style.removeProperty(property);
    }
    for (const [property, setting] of Object.entries(value ?? {})) node.style.setProperty(property, setting);
  } else if (PROPERTIES.has(name)) {
    if (node[name] !== value) node[name] = value ?? '';
  } else {
    attribute(node, name, value);
  }
}

function attribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else {
    const text = value === true ? '' : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}
