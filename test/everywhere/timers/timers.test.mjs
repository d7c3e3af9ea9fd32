import { afterEach, expect, test, vi } from 'vitest';
import timers from './work.js';

const { CLOCK, POOLS, work } = timers;
const clock = {
  tick: time => vi.advanceTimersByTime(time),
  runAll: () => vi.runAllTimers(),
  count: () => vi.getTimerCount()
};

afterEach(() => {
  vi.useRealTimers();
});

for (const name of Object.keys(POOLS)) {
  test(name, async () => {
    vi.useFakeTimers({ toFake: CLOCK });
    const [open, , end] = await work(name, JSON.parse(process.env.SERVER), clock);
    expect(open).toBeLessThanOrEqual(1);
    expect(end).toBe(0);
  });
}
