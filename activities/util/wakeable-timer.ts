/** A wait that ends with its timeout, if it has one, or when it is woken. */
export class WakeableTimer {
  private end: () => void = () => {};

  /** @param milliseconds the longest wait; default: until it is woken */
  wait(milliseconds?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds);
      this.end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the running wait, if there is one. */
  wake(): void {
    this.end();
  }
}
