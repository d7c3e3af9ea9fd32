// A live result: rows that did not change are the same objects, and keep their elements.

import { live } from '/client-parser/live.js';

const elements = new WeakMap();

function elementOf({ id, name, votes }) {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.textContent = name;
  button.addEventListener('click', () => fetch(`/votes/${id}`, { method: 'POST' }));
  item.append(button, `: ${votes}`);
  return item;
}

for await (const rows of live('/votes')) {
  for (const row of rows) if (!elements.has(row)) elements.set(row, elementOf(row));
  document.querySelector('#votes').replaceChildren(...rows.map(row => elements.get(row)));
  document.querySelector('#live-state').textContent = rows.connected ? 'connected' : 'not connected';
}
