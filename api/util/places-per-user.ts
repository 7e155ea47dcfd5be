/** Places of a process that each user has so many of. */
export class PlacesPerUser {
  readonly #taken = new Map<string, number>();

  constructor(readonly each: number) {}

  /** @returns what frees the place again, once; undefined: the user has as many as one may */
  take(user: string): (() => void) | undefined {
    const own = this.#taken.get(user) ?? 0;
    if (own >= this.each) return undefined;
    this.#taken.set(user, own + 1);
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      const left = this.#taken.get(user)! - 1;
      if (left > 0) this.#taken.set(user, left);
      else this.#taken.delete(user);
    };
  }
}
