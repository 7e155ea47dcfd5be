/** mocha's spec reporter, which also tells `npm test` the counts over the channel. CommonJS: mocha loads reporters by require. */
const { reporters } = require('mocha');

module.exports = class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    // `npm test` was killed: its tests are not to go on alone.
    process.on('disconnect', () => process.exit(1));
    // The listener alone would keep this process alive when all is done.
    process.channel?.unref();
    runner.once('end', () => {
      const { passes, failures, pending } = runner.stats;
      process.send?.({ passes, failures, pending });
    });
  }
};
