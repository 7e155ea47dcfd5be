/** Ends the process that runs it, for the runner's own test. */
it('ends the process', () => {
  process.exit(3);
});
