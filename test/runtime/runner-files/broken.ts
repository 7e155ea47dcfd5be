/** Does not load, for the runner's own test. */
throw new Error('this file does not load');
