/** Where the last page of a list begins. */
export const lastPage = (total: number, size: number): number => Math.max(0, Math.ceil(total / size) - 1) * size;
