/** The bound of a list is an instant, or a date that means its whole day in UTC. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The start of a day; an instant stays. */
export const rangeStart = (moment: string): string => (DAY.test(moment) ? `${moment}T00:00:00Z` : moment);

/** The last instant of a day in the database's precision; an instant stays. */
export const rangeEnd = (moment: string): string => (DAY.test(moment) ? `${moment}T23:59:59.999999Z` : moment);

/** The end of a day as an exclusive bound; an instant stays. */
export const rangeEndExclusive = (moment: string): string => (DAY.test(moment) ? `${moment}T24:00:00Z` : moment);
