/** Moving many visits at once: a call of a function for each row only to note the time. */
export const name = '0041-touch-cost';
export const up = `
-- Who changes rows in sets says himself when; for everybody else the trigger does.
drop trigger touch on scheduled_visits;
create trigger touch before update on scheduled_visits for each row when (new.updated_at = old.updated_at) execute function touch_updated_at();
`;
