/** A wait that ends with its time, or when somebody wakes it. */
export class WakeableTimer {
  private end: () => void = () => {};

  /** @param milliseconds the longest that it waits */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the wait that is under way, if there is one. */
  wake(): void {
    this.end();
  }
}
