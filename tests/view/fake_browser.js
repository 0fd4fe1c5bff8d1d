// As much of a browser as the page's script asks for: elements that keep what is set, a canvas that
// keeps the texts drawn on it since it was last cleared, and events to send. HASH is the address.
const elements = {}, listeners = {};
const canvasOf = () => {
  const kept = { texts: [], rects: 0 };
  return new Proxy(kept, {
    get: (target, name) => {
      if (name === 'measureText') return text => ({ width: 7 * text.length });
      if (name === 'fillText') return (text, left, top) => { target.texts.push({ text, left, top }); };
      if (name === 'setTransform') return () => { target.texts = []; };
      return name in target ? target[name] : () => {};
    },
    set: (target, name, value) => { target[name] = value; return true; },
  });
};
function element(id) {
  if (elements[id]) return elements[id];
  const context = canvasOf(), own = {};
  return elements[id] = {
    style: {}, attributes: {}, children: [], textContent: '', value: '', clientWidth: 1200, clientHeight: 700, offsetWidth: 100, offsetHeight: 40,
    setAttribute(name, value) { this.attributes[name] = String(value); },
    addEventListener(name, listener) { own[name] = listener; }, send(name, event) { own[name](event); },
    append(...parts) { this.children.push(...parts); }, focus() {}, select() {}, getContext: () => context,
  };
}
let made = 0;
const document = { getElementById: element, createElement: () => element('made' + made++) };
const window = { devicePixelRatio: 1, innerWidth: 1200, innerHeight: 800, addEventListener: (name, listener) => { listeners[name] = listener; } };
const location = { hash: HASH, replace(address) { this.hash = address; } };
const requestAnimationFrame = drawing => drawing();
element('data').textContent = DATA;

const press = key => listeners.keydown({ key, target: null, preventDefault() {} });
const type = text => { element('find').value = text; element('find').send('keydown', { key: 'Enter' }); };
const texts = () => element('plot').getContext().texts;
const legend = () => element('legend').children.map(entry => entry.children[entry.children.length - 1]);
