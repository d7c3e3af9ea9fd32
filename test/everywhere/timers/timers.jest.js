'use strict';

const { POOLS, work } = require('./work');

const clock = {
  tick: time => jest.advanceTimersByTime(time),
  runAll: () => jest.runAllTimers(),
  count: () => jest.getTimerCount()
};

afterEach(() => jest.useRealTimers());

for (const name of Object.keys(POOLS)) {
  test(name, async () => {
    jest.useFakeTimers();
    const [open, , end] = await work(name, JSON.parse(process.env.SERVER), clock);
    expect(open).toBeLessThanOrEqual(1);
    expect(end).toBe(0);
  });
}
