/**
 * mocha's spec reporter, which also tells `npm test` over the channel of each failure and, at the end, the counts.
 * CommonJS: mocha loads reporters by require.
 */
const { reporters } = require('mocha');

module.exports = class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    // `npm test` was killed: its tests are not to go on alone.
    process.on('disconnect', () => process.exit(1));
    // The listener alone would keep this process alive when all is done.
    process.channel?.unref();
    runner.on('fail', () => process.send?.({ failed: true }));
    runner.once('end', () => {
      const { passes, failures, pending } = runner.stats;
      process.send?.({ passes, failures, pending });
    });
  }
};
