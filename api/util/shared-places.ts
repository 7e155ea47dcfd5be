/** Places of a process that its users share: so many in all, and of one user so many that others find one free. */
export class SharedPlaces {
  #taken = 0;
  readonly #ofUsers = new Map<string, number>();

  constructor(
    readonly all: number,
    readonly each: number,
  ) {}

  /** @returns what frees the place again; `full`: none is free; `enough`: the user has as many as one may */
  take(user: string): (() => void) | 'full' | 'enough' {
    const own = this.#ofUsers.get(user) ?? 0;
    if (own >= this.each) return 'enough';
    if (this.#taken >= this.all) return 'full';
    this.#taken += 1;
    this.#ofUsers.set(user, own + 1);
    return () => this.#free(user);
  }

  #free(user: string): void {
    this.#taken -= 1;
    const left = this.#ofUsers.get(user)! - 1;
    if (left > 0) this.#ofUsers.set(user, left);
    else this.#ofUsers.delete(user);
  }
}
