'use strict';

const sinon = require('sinon');
const { CLOCK, POOLS, work } = require('./work');

(async () => {
  for (const name of Object.keys(POOLS)) {
    for (const options of [
      { toFake: CLOCK },
      { toFake: CLOCK.filter(each => each !== 'performance') },
      { toFake: [...CLOCK, 'setImmediate', 'clearImmediate', 'hrtime'] }
    ]) {
      const clock = sinon.useFakeTimers(options);
      const counts = await work(name, JSON.parse(process.env.SERVER), {
        tick: time => clock.tick(time),
        runAll: () => clock.runAll(),
        count: () => clock.countTimers()
      });
      clock.restore();
      console.log(JSON.stringify([name, ...counts]));
    }
  }
})();
