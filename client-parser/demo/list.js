// A table of any number of rows, of which only those in view are elements.

/** Height of a row in pixels, as in the style sheet. */
const ROW = 28;

/** Browsers cut elements off at 17 to 33 million pixels: a longer table gets a scrollbar of another scale. */
const MAX_HEIGHT = 8e6;

export class VirtualList {
  #scroller;
  #sizer;
  #layer;
  #head;
  #body;
  #onview;
  #count = 0;
  #cells;
  #columns = [];
  #top = 0; // pixels above the view, in the table's own scale
  #last = 0; // the scrollbar's place that #top belongs to
  #wheel = 0; // when it was last turned
  #frame = 0;

  /**
   * @param {HTMLElement} scroller with .sizer > .layer > .head + .body
   * @param {function(number, number)} onview called with the first and last row in view, from 0
   */
  constructor(scroller, onview) {
    this.#scroller = scroller;
    this.#sizer = scroller.querySelector('.sizer');
    this.#layer = scroller.querySelector('.layer');
    this.#head = scroller.querySelector('.head');
    this.#body = scroller.querySelector('.body');
    this.#onview = onview;
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    scroller.addEventListener(
      'wheel',
      () => {
        this.#wheel = performance.now();
      },
      { passive: true }
    );
    new ResizeObserver(() => this.#resize()).observe(scroller);
  }

  /**
   * Starts a new table.
   * @param {function(number): Array} cells the values of a row
   */
  reset(columns, cells) {
    this.#columns = columns;
    this.#cells = cells;
    this.#count = 0;
    this.#top = 0;
    this.#head.replaceChildren(
      ...['row', ...columns.map(column => column.name)].map((name, i) => {
        const cell = document.createElement('div');
        cell.setAttribute('role', 'columnheader');
        cell.textContent = name;
        if (columns[i - 1]?.number) cell.className = 'number';
        return cell;
      })
    );
    this.#scroller.setAttribute('aria-colcount', columns.length + 1);
    this.#body.replaceChildren();
    this.#resize();
  }

  /** @param {number} count of rows that there are now */
  set count(count) {
    if (count === this.#count) return;
    this.#count = count;
    this.#scroller.setAttribute('aria-rowcount', count + 1);
    this.#resize();
  }

  /** Brings a row to the top of the view. */
  scrollTo(index) {
    this.#top = Math.max(0, Math.min(index * ROW, this.#bottom));
    this.#sync();
    this.#draw();
  }

  /** Pixels above the view when the last row is in it. */
  get #bottom() {
    return Math.max(0, (this.#count + 1) * ROW - this.#scroller.clientHeight);
  }

  /** Pixels of the table to one of the scrollbar. */
  get #scale() {
    const range = this.#sizer.offsetHeight - this.#scroller.clientHeight;
    return range > 0 ? Math.max(1, this.#bottom / range) : 1;
  }

  #resize() {
    this.#sizer.style.height = `${Math.min((this.#count + 1) * ROW, MAX_HEIGHT)}px`;
    this.#layer.style.height = `${this.#scroller.clientHeight}px`;
    this.#top = Math.min(this.#top, this.#bottom);
    this.#sync();
    this.#draw();
  }

  /** Puts the scrollbar where the table is. */
  #sync() {
    this.#scroller.scrollTop = this.#top / this.#scale;
    this.#last = this.#scroller.scrollTop;
  }

  #scrolled() {
    const { scrollTop, clientHeight } = this.#scroller;
    const moved = scrollTop - this.#last;
    if (moved === 0) return;
    this.#last = scrollTop;
    const scale = this.#scale;
    const atEnd = scrollTop >= this.#sizer.offsetHeight - clientHeight - 1;
    if (scale === 1 || scrollTop <= 0) this.#top = scrollTop;
    else if (atEnd) this.#top = this.#bottom;
    // A wheel, a key or a finger moves by what it says; only the scrollbar's thumb by the scale. The thumb is not put
    // where the table is then: this would stop a scrolling that the browser animates.
    else if (Math.abs(moved) <= 2 * clientHeight || performance.now() - this.#wheel < 200) this.#top += moved;
    else this.#top = scrollTop * scale;
    this.#top = Math.max(0, Math.min(this.#top, this.#bottom));
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const height = this.#scroller.clientHeight - ROW;
    const first = Math.floor(this.#top / ROW);
    const shown = Math.min(this.#count - first, Math.ceil(height / ROW) + 1);
    const body = this.#body;
    while (body.children.length > Math.max(0, shown)) body.lastChild.remove();
    while (body.children.length < shown) body.append(this.#element());
    for (let i = 0; i < shown; i++) this.#fill(body.children[i], first + i);
    body.style.transform = `translateY(${first * ROW - this.#top}px)`;
    this.#onview(first, Math.min(this.#count, Math.floor((this.#top + height) / ROW)) - 1);
  }

  #element() {
    const row = document.createElement('div');
    row.setAttribute('role', 'row');
    for (let i = -1; i < this.#columns.length; i++) {
      const cell = document.createElement('div');
      cell.setAttribute('role', i < 0 ? 'rowheader' : 'cell');
      row.append(cell);
    }
    row.index = -1;
    return row;
  }

  #fill(row, index) {
    if (row.index === index) return;
    row.index = index;
    row.className = index % 2 ? 'odd' : '';
    row.setAttribute('aria-rowindex', index + 2);
    row.firstChild.textContent = (index + 1).toLocaleString('en');
    this.#cells(index).forEach((value, i) => {
      const cell = row.children[i + 1];
      cell.textContent = value === null ? 'NULL' : String(value);
      cell.className = value === null ? 'null' : this.#columns[i].number ? 'number' : '';
    });
  }
}
