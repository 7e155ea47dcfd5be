/** What narrows a list in time is an instant, or a date that stands for the whole of its day in UTC. */
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Where a day begins; an instant is itself. */
export const rangeStart = (moment: string): string => (DAY.test(moment) ? `${moment}T00:00:00Z` : moment);

/** The last instant of a day that the database can tell apart; an instant is itself. */
export const rangeEnd = (moment: string): string => (DAY.test(moment) ? `${moment}T23:59:59.999999Z` : moment);

/** Where a day is over, for a bound that is not included; an instant is itself. */
export const rangeEndExclusive = (moment: string): string => (DAY.test(moment) ? `${moment}T24:00:00Z` : moment);
