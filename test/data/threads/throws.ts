/** A thread that fails outside of what it was to do. */
setImmediate(() => {
  throw new Error('a fault of the thread');
});
